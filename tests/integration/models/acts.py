"""What rivals do to a job, and what came of it."""

from __future__ import annotations

from uuid import UUID

from aijobs.models.lifecycle import (
    Lease,
    cancel,
    succeed,
)
from aijobs.models.tables import AiJob
from tests.integration.models.states import (
    claimed,
    sql,
)
from tests.world import World


def claim_one(here: World) -> UUID | None:
    lease = claimed(here)
    return None if lease is None else lease.job_id


def cancel_now(job_id: UUID) -> AiJob:
    return cancel(job_id, reason="user", actor="user:1")


def succeed_now(lease: Lease) -> AiJob:
    return succeed(lease, output_hash="1" * 64)


def edges_of(job_id: UUID) -> list[str]:
    found = sql("SELECT cause FROM job_transition WHERE job_id = %(id)s ORDER BY id", id=job_id)
    return [row["cause"] for row in found]


def count_of(table: str) -> int:
    return int(sql(f"SELECT count(*) AS number FROM {table}")[0]["number"])
