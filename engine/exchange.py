"""One question and its answer: from the journal, or from the routes in their order."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import structlog

from aijobs.engine import circuits
from aijobs.engine.attempt import Attempt
from aijobs.engine.bugs import frames_of
from aijobs.engine.calls import Answered, Call, CallEnd, Failed, complete, make_call
from aijobs.engine.chat import ChatRequest, Reply
from aijobs.engine.definition import JobDefinition
from aijobs.engine.engine import Engine
from aijobs.engine.errors import Deferred, Effect, JobFault
from aijobs.engine.key_use import own_key_of
from aijobs.engine.limits import call_bound, circuit_rules, platform_budget, prompt_bound
from aijobs.models import database as db
from aijobs.models import ledger
from aijobs.models.circuit import Recorded
from aijobs.models.errors import CircuitRefuses, LeaseLost, NoRoom
from aijobs.models.journal import answer_of, finish_with_result
from aijobs.models.results import Validated

_JITTER_SECONDS = 30.0
_WAKE_BATCH = 200

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Exchange:
    """An answer. `call` is not yet completed in the journal; None when the answer was found
    there."""

    reply: Reply
    call: CallEnd | None


def ask(
    engine: Engine, attempt: Attempt, definition: JobDefinition, request: ChatRequest
) -> Exchange:
    """The journal's answer to this request, or a new call's.

    Raises ProviderFault or CallCut with the call completed in the journal; Deferred when the job
    must wait for a circuit or a budget; LeaseLost before any call.
    """
    if attempt.job.call_count > 0:  # an earlier attempt has asked something
        known = db.read(
            lambda: answer_of(attempt.job.id, request.request_hash), patient=attempt.may_insist
        )
        if known is not None:
            return Exchange(Reply.from_journal(known), None)
    try:
        if own := own_key_of(engine, attempt):
            call = Call(definition, request, own.route, own)
            return _answer(make_call(engine, attempt, call))
        return _fall_over(engine, attempt, definition, request)
    except NoRoom as refused:
        hopeless = _is_hopeless(engine, attempt, definition, request)
        log.info("budget_used_up", code=refused.code, is_hopeless=hopeless)
        spread_seconds = random.uniform(0.0, _JITTER_SECONDS)
        raise Deferred("budget", spread_seconds, refused, is_hopeless=hopeless) from refused


def close(engine: Engine, attempt: Attempt, exchange: Exchange, fault: JobFault) -> None:
    """Complete the call of an answer that cannot be used: it is paid for and never asked again.

    To the circuit such an answer is neither a success nor a failure."""
    if exchange.call is not None:
        outcome = exchange.call.outcome
        verdict = None if outcome.verdict == "success" else outcome.verdict
        unusable = replace(outcome, error_code=fault.code, verdict=verdict)
        complete(engine, attempt, replace(exchange.call, outcome=unusable))


def keep(engine: Engine, attempt: Attempt, exchange: Exchange, validated: Validated) -> None:
    """Commit the validated answer with its call; a lost lease still completes the call's row."""
    end = exchange.call
    try:
        told = finish_with_result(
            attempt.lease,
            None if end is None else (end.call_no, end.outcome),
            validated,
            lease_seconds=engine.settings.lease_seconds,
            patient=attempt.may_insist,
            rules=circuit_rules(engine.settings),
        )
    except LeaseLost:
        if end is not None:
            _wake(engine, complete(engine, attempt, end))
        raise
    if end is not None:
        engine.meters.count_call(end.asked, end.outcome)
    _wake(engine, told)


def _fall_over(
    engine: Engine, attempt: Attempt, definition: JobDefinition, request: ChatRequest
) -> Exchange:
    """The tier's routes in their order, those whose circuit lets it through: the next one where
    another try may help, within the attempt's deadline; the last one's fault is the answer."""
    failed: Failed | None = None
    for route in engine.routes(definition.tier):
        try:
            made = make_call(engine, attempt, Call(definition, request, route))
        except CircuitRefuses as refused:
            log.info("route_refused", detail=str(refused))
            continue
        if isinstance(made, Answered):
            return _answer(made)
        if not made.fault.error.retryable and made.fault.error.effect is Effect.NONE:
            raise made.fault
        log.info(
            "route_failed",
            provider=route.provider,
            error_code=made.fault.code,
            detail=made.fault.detail,
        )
        failed = made
    if failed is None:
        raise Deferred("circuit", 0.0)
    if failed.circuit.state == "open":  # the platform's matter: the job uses nothing up
        raise Deferred("circuit", 0.0) from failed.fault
    if failed.fault.error.effect is Effect.CIRCUIT:  # of a circuit that has changed meanwhile
        raise Deferred("circuit", random.uniform(1.0, _JITTER_SECONDS)) from failed.fault
    raise failed.fault


def _is_hopeless(
    engine: Engine, attempt: Attempt, definition: JobDefinition, request: ChatRequest
) -> bool:
    """Whether the request is beyond the limits of a whole day."""
    bound = call_bound(
        engine.routes(definition.tier), prompt_bound(request.messages), request.max_tokens
    )
    budget = platform_budget(engine.settings)
    return not db.read(
        lambda: ledger.fits_a_day(attempt.job, bound, budget), patient=attempt.may_insist
    )


def _answer(made: Answered | Failed) -> Exchange:
    if isinstance(made, Failed):
        raise made.fault
    return Exchange(made.reply, made.end)


def _wake(engine: Engine, told: Recorded) -> None:
    """A circuit that a call has closed lets those go on that have waited for it; whom this does not
    reach, the circuits' periodic pass does: its failure is no fault of the job."""
    if not told.changed or told.state != "closed":
        return
    try:
        circuits.wake(engine, _WAKE_BATCH)
    except Exception as error:
        log.warning("wake_failed", **frames_of(error))
