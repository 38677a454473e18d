"""Edge 12, and the request that a holder answers with edge 13: of one job, or all of a user."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from uuid import UUID

from aijobs.models import database as db
from aijobs.models.errors import IllegalTransition, JobAlreadyTerminal, JobLockConflict
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
    found = (
        db.rows(_REQUEST, params)
        if db.in_transaction()
        else db.statement("request_cancel", _REQUEST, params)
    )
    return job_from(found[0]) if found else None


def cancel_all_of(user_id: UUID, *, reason: str, actor: str) -> list[UUID]:
    """Cancel every queued and expired job of a user, and request it of the holders of the others:
    those, whose stop the caller may hint after its commit.

    Part of the caller's transaction, which keeps the user from making new ones. A job that moves on
    meanwhile is met by the next round.
    """
    asked: list[UUID] = []
    while found := db.rows(_UNASKED, {"user_id": user_id}):
        for row in found:
            if request_cancel(row["id"], reason=reason) is not None:
                asked.append(row["id"])
                continue
            with suppress(JobLockConflict, JobAlreadyTerminal, IllegalTransition):
                cancel(row["id"], reason=reason, actor=actor)
    return asked


_UNASKED = """
SELECT id FROM ai_job
WHERE user_id = %(user_id)s AND lifecycle_status NOT IN ('cancelled', 'failed', 'succeeded')
  AND (cancel_requested_at IS NULL OR lifecycle_status = 'expired')
ORDER BY id
"""
