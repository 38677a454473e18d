"""The reaper: decides what becomes of jobs whose lease has lapsed, one transaction per job.

Invariant: a lease is taken away only after lease and grace have lapsed and, after an outage in
which nobody could renew, only after everybody has had one lease time to do so.
"""

from __future__ import annotations

import random
from uuid import UUID

import structlog

from aijobs.engine.backoff import backoff_seconds
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
        if was_away and not maintenance.waited("reaper", settings.lease_seconds):
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
        except Exception:
            log.exception("reap_failed", job_id=str(job_id))
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
        try:
            requeue(job_id, delay_seconds=self._delay(job.job_type, job.retry_count))
        except IllegalTransition:
            give_up(job_id, _lease_expired(job.crash_count))

    def _delay(self, job_type: str, retry_count: int) -> float:
        registry = self._engine.registry
        base = (
            registry.get(job_type).backoff_base
            if job_type in registry
            else _DEFAULT_BACKOFF_SECONDS
        )
        return backoff_seconds(base, retry_count, draw=random.Random())


def _lease_expired(crash_count: int) -> Failure:
    error = ERRORS["LEASE_EXPIRED"]
    return Failure(error.code, error.public_message("en"), f"its lease lapsed {crash_count} times")
