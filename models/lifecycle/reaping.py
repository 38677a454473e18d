"""The edges of the reaper (9 to 11, and 13 for the dead) and of the system (14)."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from aijobs.models import database as db
from aijobs.models.lifecycle.edge import (
    DISPATCHED,
    ERROR,
    FINISHED,
    JOB_CANCELLED,
    LEASE_CLEARED,
    take,
)
from aijobs.models.lifecycle.holding import Failure
from aijobs.models.sql import load
from aijobs.models.tables import AiJob

CRASH_LIMIT = 5
_LAPSED = "job.lock_until < now() - %(grace_seconds)s * interval '1 second'"
_VALIDATED = "EXISTS (SELECT FROM ai_job_result result WHERE result.job_id = job.id)"
REAPER = "reaper"


def lapsed(
    *, grace_seconds: float, limit: int, tried: Sequence[UUID] = ()
) -> list[tuple[UUID, str]]:
    """Jobs to decide on: (id, lifecycle_status), the longest lapsed first, without `tried`."""
    params = {"grace_seconds": grace_seconds, "limit": limit, "tried": list(tried)}
    found = db.read(lambda: db.rows(load("lapsed"), params))
    return [(row["id"], row["lifecycle_status"]) for row in found]


def expire(job_id: UUID, *, grace_seconds: float) -> AiJob:
    """Edge 9: its lease and grace have lapsed. Raises IllegalTransition for a healthy one."""
    return take(
        "expire",
        job_id,
        condition=_LAPSED,
        changes=f"{LEASE_CLEARED}, crash_count = job.crash_count + 1",
        actor=REAPER,
        grace_seconds=grace_seconds,
    )


def confirm_cancel_lapsed(job_id: UUID, *, grace_seconds: float) -> AiJob:
    """Edge 13 on behalf of a holder that is dead."""
    return take(
        "confirm_cancel",
        job_id,
        condition=f"{_LAPSED} AND job.cancel_requested_at IS NOT NULL",
        changes=f"{FINISHED}, {ERROR}, crash_count = job.crash_count + 1",
        actor=REAPER,
        grace_seconds=grace_seconds,
        **JOB_CANCELLED,
    )


def requeue(job_id: UUID, *, delay_seconds: float) -> AiJob:
    """Edge 10: counts a retry, but not for a result that is validated already.

    Raises IllegalTransition when no retry is left, it crashed too often, or a cancel is requested.
    """
    return take(
        "requeue",
        job_id,
        condition=(
            f"job.cancel_requested_at IS NULL AND job.crash_count <= {CRASH_LIMIT} "
            f"AND (job.retry_count < job.max_retry_count OR {_VALIDATED})"
        ),
        changes=f"{DISPATCHED}, retry_count = job.retry_count + (NOT {_VALIDATED})::int",
        actor=REAPER,
        delay_seconds=delay_seconds,
    )


def give_up(job_id: UUID, failure: Failure) -> AiJob:
    """Edge 11: nothing more will be tried."""
    return take("give_up", job_id, changes=f"{FINISHED}, {ERROR}", actor=REAPER, **failure.params())


def reject(job_id: UUID, failure: Failure, *, cause: str, actor: str) -> AiJob:
    """Edge 14. `cause`: dead_event, dependency_failed, invalid_snapshot or definition_removed."""
    return take(
        "reject",
        job_id,
        changes=f"{FINISHED}, {ERROR}",
        cause=f"reject:{cause}",
        actor=actor,
        **failure.params(),
    )
