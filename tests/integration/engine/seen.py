"""What a test reads of a job: its calls, its history, its events."""

from __future__ import annotations

import datetime as dt
from typing import Any
from uuid import UUID

from aijobs.models import database as db
from aijobs.models import jobs, journal
from aijobs.models.tables import AiJob, AiUsageLog


def calls(job_id: UUID) -> list[AiUsageLog]:
    """The journal of a job."""
    return db.read(lambda: journal.calls_of(job_id))


def states(job_id: UUID) -> list[str]:
    """How its calls ended, in order."""
    return [str(call.state) for call in calls(job_id)]


def causes(job_id: UUID) -> list[str]:
    """Its edges, in order, without checkpoints."""
    history = db.read(lambda: jobs.history(job_id))
    return [step.cause for step in history if step.cause != "checkpoint"]


def events(job_id: UUID) -> list[str]:
    """The dedupe keys of its events, in the order they were written, without its id."""
    sql = "SELECT dedupe_key FROM outbox_event WHERE aggregate_id = %(id)s ORDER BY id"
    found = db.read(lambda: db.rows(sql, {"id": job_id}))
    return [row["dedupe_key"].replace(str(job_id), "job") for row in found]


def wait_seconds(job: AiJob) -> float:
    """How long a queued job has still to wait, by the database's clock."""
    now: dt.datetime = rows("SELECT clock_timestamp() AS now")[0]["now"]
    return float((job.available_at - now).total_seconds())


def rows(sql: str, **params: Any) -> list[dict[str, Any]]:
    """What a query finds, or what a statement of the test's own returns."""
    return db.read(lambda: db.rows(sql, params))


def forget_circuits() -> None:
    """As if no route had ever failed."""
    rows("DELETE FROM platform_circuit")
