"""Taking one listed edge with one conditional statement, and saying why it could not be taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from aijobs.models import database as db
from aijobs.models.columns import model_of
from aijobs.models.errors import (
    IllegalTransition,
    JobAlreadyTerminal,
    JobLockConflict,
    JobNotFound,
    LeaseLost,
)
from aijobs.models.lifecycle.lease import Lease
from aijobs.models.sql import load
from aijobs.models.tables import AiJob
from aijobs.models.transitions import ACTIVE, BY_NAME, TERMINAL, Transition

FENCE = "job.attempt_no = %(attempt_no)s AND job.locked_by = %(holder)s"
LEASE_CLEARED = "locked_by = NULL, locked_at = NULL, lock_until = NULL"
FINISHED = f"finished_at = now(), {LEASE_CLEARED}"
DISPATCHED = (
    "dispatch_no = job.dispatch_no + 1, "
    "available_at = now() + %(delay_seconds)s * interval '1 second', "
    "dispatched_at = now() + %(delay_seconds)s * interval '1 second'"
)
ERROR = (
    "error_code = %(error_code)s, public_error_message = %(public_message)s, "
    "internal_error_message = %(internal_message)s"
)
#: Parameters of ERROR for a cancelled job, in place of what an earlier attempt came to.
JOB_CANCELLED: dict[str, Any] = {
    "error_code": "JOB_CANCELLED",
    "public_message": None,
    "internal_message": None,
}

Patience = Callable[[], bool]


def take(
    name: str,
    job_id: UUID,
    *,
    actor: str,
    changes: str = "",
    condition: str = "TRUE",
    sql: str | None = None,
    cause: str | None = None,
    lease: Lease | None = None,
    patient: Patience = lambda: False,
    **params: Any,
) -> AiJob:
    """Take the edge `name` and return the job as it is then.

    `changes` under `condition` are made by sql/transition.sql, or all of it by `sql`, a statement
    of the edge's own. Inside a transaction it joins that, else it is a transaction of its own. With
    `lease` it is fenced. Raises JobNotFound, JobAlreadyTerminal, JobLockConflict, LeaseLost or
    IllegalTransition; then nothing was written.
    """
    edge = BY_NAME[name]
    if lease is not None:
        condition = f"{FENCE} AND {condition}"
        params |= {"attempt_no": lease.attempt_no, "holder": lease.holder}
    if sql is None:
        sql = load("transition").replace("[condition]", condition).replace("[changes]", changes)
    params = {"error_code": None} | params
    params |= {
        "job_id": job_id,
        "sources": sorted(edge.sources),
        "target": edge.target,
        "event": edge.event,
        "cause": cause or name,
        "actor": actor,
    }
    moved = (
        db.rows(sql, params)
        if db.in_transaction()
        else db.statement(name, sql, params, patient=patient)
    )
    if not moved:
        raise refusal(edge, job_id, lease)
    return job_from(moved[0])


def job_from(row: dict[str, Any]) -> AiJob:
    """A job row of a statement as the model."""
    return model_of(AiJob, row)


def refusal(edge: Transition, job_id: UUID, lease: Lease | None) -> Exception:
    """Read once and say what it is."""
    found = db.read(
        lambda: db.row(
            "SELECT id, lifecycle_status, attempt_no, locked_by FROM ai_job WHERE id = %(id)s",
            {"id": job_id},
        )
    )
    if found is None:
        return JobNotFound(job_id)
    if lease is not None and not lease.holds(found):
        return LeaseLost(edge.name, found)
    if found["lifecycle_status"] in TERMINAL:
        return JobAlreadyTerminal(edge.name, found)
    if found["lifecycle_status"] in ACTIVE - edge.sources and lease is None:
        return JobLockConflict(edge.name, found)
    return IllegalTransition(edge.name, found)
