"""Edge 12, and the request that a holder answers with edge 13."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from aijobs.models import database as db
from aijobs.models.lifecycle.edge import ERROR, FINISHED, JOB_CANCELLED, job_from, take
from aijobs.models.tables import AiJob

_REQUEST = """
UPDATE ai_job SET cancel_requested_at = coalesce(cancel_requested_at, now()),
                  cancel_reason = coalesce(cancel_reason, %(reason)s)
WHERE id = %(job_id)s AND lifecycle_status IN ('locked', 'running')
RETURNING *
"""


def cancel(job_id: UUID, *, reason: str, actor: str) -> AiJob:
    """Edge 12: a job that nobody holds. Raises JobLockConflict when an attempt is under way."""
    return take(
        "cancel",
        job_id,
        changes=(
            f"{FINISHED}, {ERROR}, cancel_reason = %(reason)s, "
            "cancel_requested_at = coalesce(job.cancel_requested_at, now())"
        ),
        actor=actor,
        reason=reason,
        **JOB_CANCELLED,
    )


def request_cancel(job_id: UUID, *, reason: str) -> AiJob | None:
    """Ask the holder of an active job to stop; None when nobody holds it (any more)."""
    params: dict[str, Any] = {"job_id": job_id, "reason": reason}
    found = db.statement("request_cancel", _REQUEST, params)
    return job_from(found[0]) if found else None
