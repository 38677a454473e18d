"""Edge 1: a job and everything that belongs to it from the start, in one statement."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from psycopg2.extras import Json

from aijobs.models import database as db
from aijobs.models.columns import columns_of, one
from aijobs.models.ledger import Bound, Budget, refusals
from aijobs.models.lifecycle.edge import job_from
from aijobs.models.sql import load
from aijobs.models.tables import AiJob
from aijobs.models.transitions import BY_NAME


@dataclass(frozen=True, slots=True)
class NewJob:
    """What a job is created from. `snapshot` is None while its dependencies are open."""

    id: UUID
    user_id: UUID
    job_type: str
    definition_version: int
    target_type: str
    target_id: UUID
    params: dict[str, Any]
    lane: str
    queue_name: str
    priority: int
    request_hash: str
    credential_mode: str
    prompt_version: str
    input_schema_version: str
    output_schema_version: str
    max_retry_count: int
    timeout_seconds: int
    snapshot_hours: float
    redaction_version: str
    snapshot: dict[str, Any] | None
    snapshot_hash: str | None
    input: dict[str, Any] | None = None
    idempotency_key: str | None = None
    retried_from_job_id: UUID | None = None
    after: tuple[UUID, ...] = field(default=())
    credential_id: UUID | None = None
    credential_version: int | None = None


def create(
    new: NewJob, *, actor: str, reserving: tuple[Bound, Budget] | None = None
) -> AiJob | None:
    """Insert a queued job with its event and, with `reserving`, its reservation; None when its key
    (or id) is taken: nothing was inserted.

    One statement: run it inside `autocommit("create", ...)` or a transaction of that name. Raises
    NoRoom; then a transaction must be rolled back.
    """
    params = columns_of(new) | {
        "actor": actor,
        "event": BY_NAME["create"].event,
        "params": Json(new.params),
        "input": None if new.input is None else Json(new.input),
        "snapshot": None if new.snapshot is None else Json(new.snapshot),
        "after": list(new.after),
    }
    if reserving is None:
        row = db.row(load("create_job"), params)
    else:
        bound, budget = reserving
        with refusals():
            params |= columns_of(bound) | budget.params()
            row = db.row(load("create_job_reserved"), params)
    return None if row is None else job_from(row)


def find_by_key(user_id: UUID, job_type: str, idempotency_key: str) -> AiJob | None:
    """The job of this user and type that was created with this key."""
    return one(
        AiJob,
        "user_id = %(user_id)s AND job_type = %(job_type)s AND idempotency_key = %(key)s",
        {"user_id": user_id, "job_type": job_type, "key": idempotency_key},
    )
