"""How a stage ended, as a value, and the one place that decides which edge each end takes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

import structlog
from uuid_utils.compat import uuid7

from aijobs.engine.attempt import Attempt
from aijobs.engine.backoff import backoff_seconds
from aijobs.engine.bugs import frames_of
from aijobs.engine.cut import CallCut, CutReason
from aijobs.engine.definition import JobDefinition
from aijobs.engine.engine import Engine
from aijobs.engine.errors import Deferred, Effect, JobFault
from aijobs.engine.key_use import CallCrashed
from aijobs.engine.registry import UnknownJobType
from aijobs.engine.vault import VaultClosed
from aijobs.models import database as db
from aijobs.models.credentials import mark_invalid, tell_owner
from aijobs.models.errors import DatabaseAway, IllegalTransition, LeaseLost, NoRoom, TargetGone
from aijobs.models.ledger import seconds_without_room
from aijobs.models.lifecycle import Failure, confirm_cancel, fail, hand_back, release_for_retry

T = TypeVar("T")
P = ParamSpec("P")

SHUTDOWNS_FREE_OF_CHARGE = 5
_VERSION_PAUSE_SECONDS = 30.0
_EQUIPMENT_PAUSE_SECONDS = 30.0

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Next(Generic[T]):
    """The stage is done; its product goes to the next one."""

    value: T


@dataclass(frozen=True, slots=True)
class Fault:
    """The job has an error."""

    fault: JobFault


@dataclass(frozen=True, slots=True)
class Cut:
    """The attempt was ended from outside, or its time is up."""

    reason: CutReason


@dataclass(frozen=True, slots=True)
class Unknown:
    """This process does not know the job's type or version (any more)."""


@dataclass(frozen=True, slots=True)
class Unequipped:
    """This process lacks something that another one may have: a master key."""


@dataclass(frozen=True, slots=True)
class Waits:
    """A circuit or a budget makes the job wait (`cause`), for some seconds at least; with
    `no_room` on top of the time until there may be room again."""

    cause: str
    seconds: float
    no_room: NoRoom | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """The lease is lost: nothing was written, and nothing more may be."""


#: What ends an attempt early.
End = Fault | Cut | Unknown | Unequipped | Waits | Lost
Outcome = Next[T] | End


def stage(
    body: Callable[Concatenate[Engine, Attempt, P], T],
) -> Callable[Concatenate[Engine, Attempt, P], Outcome[T]]:
    """Turn a stage's expected exceptions into its outcome; a bug becomes INTERNAL_ERROR."""

    def run(engine: Engine, attempt: Attempt, /, *args: P.args, **kwargs: P.kwargs) -> Outcome[T]:
        try:
            return Next(body(engine, attempt, *args, **kwargs))
        except CallCut as cut:
            return Lost() if cut.reason is CutReason.LEASE_LOST else Cut(cut.reason)
        except (LeaseLost, DatabaseAway):  # patience with the database ends when the lease does
            return Lost()
        except JobFault as fault:
            return Fault(fault)
        except Deferred as deferred:
            return Waits(deferred.cause, deferred.seconds, deferred.no_room)
        except TargetGone as gone:
            return Fault(JobFault("INVALID_SNAPSHOT", str(gone)))
        except UnknownJobType:
            return Unknown()
        except VaultClosed as closed:
            log.error("vault_closed", detail=str(closed))
            return Unequipped()
        except Exception as error:
            told = frames_of(error)
            log.error("stage_failed", stage=body.__name__, **told)
            kind = str(error) if isinstance(error, CallCrashed) else told["error"]
            return Fault(JobFault("INTERNAL_ERROR", f"{kind} at {told['where']}"))

    return run


def settle(engine: Engine, attempt: Attempt, outcome: End) -> None:
    """Take the edge that the outcome asks for. A lost lease takes none."""
    try:
        match outcome:
            case Lost():
                log.info("lease_lost", job_id=str(attempt.lease.job_id))
            case Cut(CutReason.CANCELLED):
                _confirm_cancel(attempt)
            case Cut(CutReason.DEADLINE):
                _fault(engine, attempt, JobFault("JOB_TIMEOUT", "execution time is up"))
            case Cut():
                _hand_back_for_shutdown(engine, attempt)
            case Unknown():
                _hand_back(attempt, "version", _VERSION_PAUSE_SECONDS)
            case Unequipped():
                _hand_back(attempt, "infrastructure", _EQUIPMENT_PAUSE_SECONDS)
            case Waits(_, spread_seconds, NoRoom() as refused):
                _wait_for_room(attempt, refused, spread_seconds)
            case Waits(cause, seconds):
                log.info("attempt_waits", cause=cause, seconds=round(seconds))
                _hand_back(attempt, cause, seconds)
            case Fault(fault):
                _fault(engine, attempt, fault)
    except (LeaseLost, DatabaseAway) as error:
        log.info("lease_lost", job_id=str(attempt.lease.job_id), detail=str(error))
    except Exception as error:  # a bug must not leave the job held by nobody
        log.error("settle_failed", **frames_of(error))
        with suppress(LeaseLost, DatabaseAway, IllegalTransition):
            _hand_back(attempt, "infrastructure", _EQUIPMENT_PAUSE_SECONDS)


def _confirm_cancel(attempt: Attempt) -> None:
    """A wake-up has no authority: without a request in the row the job goes on elsewhere."""
    try:
        confirm_cancel(attempt.lease, patient=attempt.may_insist)
    except IllegalTransition:
        _hand_back(attempt, "infrastructure", 0.0)


def _fault(engine: Engine, attempt: Attempt, fault: JobFault) -> None:
    definition = engine.registry.get(attempt.job.job_type)
    log.info("attempt_failed", error_code=fault.code, detail=fault.detail)
    if fault.is_final:
        _fail_unless_cancelled(attempt, fault)
    elif _may_retry(definition, fault):
        _retry(engine, attempt, fault)
    else:
        _fail_unless_cancelled(attempt, fault)


def _fail_unless_cancelled(attempt: Attempt, fault: JobFault) -> None:
    """After a cancel request the end is cancelled, whatever went wrong."""
    try:
        confirm_cancel(attempt.lease, patient=attempt.may_insist)
    except IllegalTransition:
        _fail(attempt, fault)


def _fail(attempt: Attempt, fault: JobFault) -> None:
    """Edge 6; what a provider said of a user's key is part of the same transaction."""
    key, failure = attempt.key_in_use, _failure(fault)
    if key is None or fault.error.effect is Effect.NONE:
        fail(attempt.lease, failure, patient=attempt.may_insist)
        return

    def work() -> None:
        job = fail(attempt.lease, failure, patient=attempt.may_insist)
        if fault.code == "CREDENTIAL_INVALID":
            mark_invalid(key)
        tell_owner(job, key, notification_id)

    notification_id = uuid7()
    db.transact("fail", work, patient=attempt.may_insist)


def _may_retry(definition: JobDefinition, fault: JobFault) -> bool:
    if fault.code == "JOB_TIMEOUT":
        return definition.on_timeout == "retry"
    return fault.error.retryable


def _retry(engine: Engine, attempt: Attempt, fault: JobFault) -> None:
    job, failure = attempt.job, _failure(fault)
    base = engine.registry.get(job.job_type).backoff_base
    delay = backoff_seconds(base, job.retry_count, retry_after=fault.retry_after)

    def edge() -> None:
        release_for_retry(attempt.lease, failure, delay_seconds=delay, patient=attempt.may_insist)
        engine.meters.count_retry(job.job_type, fault.code)

    _or_cancel(
        attempt,
        edge,
        otherwise=lambda: fail(attempt.lease, failure, patient=attempt.may_insist),
    )


def _hand_back(attempt: Attempt, cause: str, delay_seconds: float) -> None:
    def edge() -> Any:
        return hand_back(
            attempt.lease, cause=cause, delay_seconds=delay_seconds, patient=attempt.may_insist
        )

    _or_cancel(attempt, edge, otherwise=edge)


def _wait_for_room(attempt: Attempt, refused: NoRoom, spread_seconds: float) -> None:
    """Edge 8 under the lock of the user's settings: limits change before it, and the job tries
    again at once, or after it, and whoever changes them finds the job waiting."""

    def work() -> float:
        left = seconds_without_room(attempt.job, refused)
        delay = left + spread_seconds if left > 0 else 0.0
        hand_back(attempt.lease, cause="budget", delay_seconds=delay, patient=attempt.may_insist)
        return delay

    def edge() -> None:
        seconds = db.transact("hand_back", work, patient=attempt.may_insist)
        log.info("attempt_waits", cause="budget", seconds=round(seconds))

    _or_cancel(attempt, edge, otherwise=edge)


def _hand_back_for_shutdown(engine: Engine, attempt: Attempt) -> None:
    if attempt.job.hand_back_count < SHUTDOWNS_FREE_OF_CHARGE:
        _hand_back(attempt, "shutdown", 0.0)
    else:
        fault = JobFault("LEASE_EXPIRED", "handed back by stopping workers too often")
        _retry(engine, attempt, fault)


def _or_cancel(attempt: Attempt, edge: Callable[[], Any], *, otherwise: Callable[[], Any]) -> None:
    """Take an edge that a cancel request (or a used-up count) closes; then cancel, or the other."""
    try:
        edge()
    except IllegalTransition:
        try:
            confirm_cancel(attempt.lease, patient=attempt.may_insist)
        except IllegalTransition:
            otherwise()


def _failure(fault: JobFault) -> Failure:
    return Failure(fault.code, fault.error.public_message("en"), fault.detail)
