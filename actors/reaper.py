"""The reaper: decides what becomes of jobs whose lease has lapsed, one transaction per job.

Invariant: a lease is taken away only after lease and grace have lapsed and, after an outage in
which nobody could renew, only after everybody has had one lease time to do so.
"""

from __future__ import annotations

import random
from uuid import UUID

import structlog

from aijobs.engine.backoff import backoff_seconds
from aijobs.engine.bugs import frames_of
from aijobs.engine.engine import Engine
from aijobs.engine.errors import ERRORS
from aijobs.models import database as db
from aijobs.models import jobs, maintenance
from aijobs.models.errors import IllegalTransition, ModelError
from aijobs.models.lifecycle import (
    Failure,
    cancel,
    confirm_cancel_lapsed,
    expire,
    give_up,
    lapsed,
    requeue,
)
from aijobs.models.tables import AiJob

_BATCH = 200
_DEFAULT_BACKOFF_SECONDS = 5.0

log = structlog.get_logger()


class Reaper:
    """Reaps in pages; two at once are safe."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._grace = engine.settings.lease_grace_seconds

    def run_once(self, since_success: float | None) -> int:
        """Decide on every lapsed job; the number of jobs moved. `since_success` in seconds."""
        settings = self._engine.settings
        normal = max(settings.lease_seconds, 2 * settings.reaper_interval_seconds)
        was_away = since_success is not None and since_success > normal
        gap = 3 * settings.reaper_interval_seconds
        lease = settings.lease_seconds
        if was_away and not maintenance.waited("reaper", lease, gap_seconds=gap):
            raise maintenance.Waiting("leases get one lease time to be renewed after an outage")
        moved, tried = 0, list[UUID]()
        while page := lapsed(grace_seconds=self._grace, limit=_BATCH, tried=tried):
            moved += sum(self._reap(job_id, status) for job_id, status in page)
            tried += [job_id for job_id, _ in page]
            if len(page) < _BATCH:
                break
        return moved

    def _reap(self, job_id: UUID, status: str) -> bool:
        try:
            with structlog.contextvars.bound_contextvars(job_id=str(job_id)):
                db.transact("reap", lambda: self._decide(job_id, status))
        except ModelError as moved_on:  # somebody was faster
            log.debug("reap_moot", detail=str(moved_on))
            return False
        except Exception as error:
            log.error("reap_failed", job_id=str(job_id), **frames_of(error))
            return False
        return True

    def _decide(self, job_id: UUID, status: str) -> None:
        """Cancel first, then another try, then the end; a locked row waits for the next pass."""
        db.rows("SET LOCAL lock_timeout = '2s'")
        if status != "expired":
            try:
                confirm_cancel_lapsed(job_id, grace_seconds=self._grace)
                return
            except IllegalTransition:
                expire(job_id, grace_seconds=self._grace)
        job = jobs.get(job_id)
        assert job is not None
        if job.cancel_requested_at is not None:
            cancel(job_id, reason=job.cancel_reason or "requested", actor="reaper")
            return
        log.warning("lease_lapsed", crash_count=job.crash_count, retry_count=job.retry_count)
        if self._ends_by_time(job):
            give_up(job_id, _failure("JOB_TIMEOUT", "execution time was up when its lease lapsed"))
            return
        try:
            requeue(job_id, delay_seconds=self._delay(job.job_type, job.retry_count))
        except IllegalTransition:
            give_up(job_id, _failure("LEASE_EXPIRED", f"its lease lapsed {job.crash_count} times"))

    def _ends_by_time(self, job: AiJob) -> bool:
        """Whether its execution time is up too, and its definition says that this is the end."""
        registry = self._engine.registry
        if job.job_type not in registry or registry.get(job.job_type).on_timeout != "fail":
            return False
        return not jobs.has_result(job.id) and jobs.is_overtime(job.id)

    def _delay(self, job_type: str, retry_count: int) -> float:
        registry = self._engine.registry
        base = (
            registry.get(job_type).backoff_base
            if job_type in registry
            else _DEFAULT_BACKOFF_SECONDS
        )
        return backoff_seconds(base, retry_count, draw=random.Random())


def _failure(code: str, detail: str) -> Failure:
    error = ERRORS[code]
    return Failure(error.code, error.public_message("en"), detail)
