"""What follows the end of a job, in one transaction with `completed_at`: once, whoever tells it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from aijobs.models import database as db
from aijobs.models.lifecycle import Failure, reject
from aijobs.models.lifecycle.edge import job_from
from aijobs.models.sql import load
from aijobs.models.tables import AiJob
from aijobs.models.transitions import ENQUEUE


@dataclass(frozen=True, slots=True)
class Completed:
    """A job whose end has just been completed."""

    job: AiJob
    has_dependents: bool


def complete(job_id: UUID, notification_id: UUID) -> Completed | None:
    """Set completed_at of an ended job with what goes with it; None when it is done already.

    Must be the first statement of the transaction "complete".
    """
    row = db.row(load("complete"), {"job_id": job_id, "notification_id": notification_id})
    if row is None:
        return None
    has_dependents = bool(row.pop("has_dependents"))
    return Completed(job_from(row), has_dependents)


def wake_dependents(job_id: UUID) -> int:
    """Send hints for queued jobs that waited for this one alone; the number sent."""
    return len(db.rows(load("wake_dependents"), {"job_id": job_id, "event": ENQUEUE}))


def reject_dependents(job_id: UUID, failure: Failure) -> int:
    """Edge 14 for queued jobs that wait for a job that did not succeed; the number rejected."""
    waiting = db.rows(
        "SELECT job.id FROM ai_job job JOIN ai_job_dependency d ON d.job_id = job.id "
        "WHERE d.after_job_id = %(job_id)s AND job.lifecycle_status = 'queued' "
        "ORDER BY job.id FOR NO KEY UPDATE OF job",
        {"job_id": job_id},
    )
    for row in waiting:
        reject(row["id"], failure, cause="dependency_failed", actor="system")
    return len(waiting)


def orphans(limit: int) -> list[UUID]:
    """Ended, unsuccessful parents that queued jobs still wait for."""
    found = db.read(
        lambda: db.rows(
            "SELECT DISTINCT parent.id FROM ai_job job "
            "JOIN ai_job_dependency d ON d.job_id = job.id "
            "JOIN ai_job parent ON parent.id = d.after_job_id "
            "WHERE job.lifecycle_status = 'queued' "
            "AND parent.lifecycle_status IN ('failed', 'cancelled') LIMIT %(limit)s",
            {"limit": limit},
        )
    )
    return [row["id"] for row in found]
