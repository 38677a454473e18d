"""Cancelling a job: at once when nobody holds it, else by asking its holder."""

from __future__ import annotations

from uuid import UUID

from aijobs.engine.registry import Registry
from aijobs.engine.signals import Signals
from aijobs.models import database as db
from aijobs.models import jobs
from aijobs.models.errors import IllegalTransition, JobLockConflict, JobNotFound
from aijobs.models.lifecycle import cancel, request_cancel
from aijobs.models.tables import AiJob
from aijobs.models.transitions import ACTIVE


class NotCancellable(Exception):
    """An active job whose definition does not let it be cancelled."""


def cancel_job(
    registry: Registry, signals: Signals, job_id: UUID, *, reason: str, actor: str
) -> AiJob:
    """Cancel, or request it where an attempt is under way (then `cancel_requested_at` is set).

    Raises JobNotFound, JobAlreadyTerminal, NotCancellable. One of the two updates hits sooner or
    later, since each failure means that the job has moved on.
    """
    while True:
        try:
            ended = cancel(job_id, reason=reason, actor=actor)
        except (JobLockConflict, IllegalTransition):
            asked = _request(registry, job_id, reason)
            if asked is not None:
                signals.hint_cancel(job_id)
                return asked
        else:
            signals.hint_outbox()
            return ended


def _request(registry: Registry, job_id: UUID, reason: str) -> AiJob | None:
    job = db.read(lambda: jobs.get(job_id))
    if job is None:
        raise JobNotFound(job_id)
    known = job.job_type in registry
    if job.lifecycle_status in ACTIVE and known and not registry.get(job.job_type).cancellable:
        raise NotCancellable(str(job_id))
    return request_cancel(job_id, reason=reason)
