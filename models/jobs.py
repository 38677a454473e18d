"""Reading jobs: one, pages of them, why one waits, what was published.

Invariant: every user's query is filtered by user_id here, so that another's id finds nothing.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from aijobs.models import database as db
from aijobs.models.columns import one
from aijobs.models.lifecycle.claiming import NO_ROUTES, Known, Routes, claimable_params
from aijobs.models.paging import Place, newest_first
from aijobs.models.sql import load
from aijobs.models.tables import AiJob, Flashcard, JobTransition, KnowledgeBase, QuizQuestion
from aijobs.models.transitions import USER_STATUS


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs to list. `status` is what users see."""

    user_id: UUID
    status: str | None = None
    job_type: str | None = None
    target_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a job is not running: the first reason that holds, and since when.

    A job whose reason is its queue waits for a free worker if it `is_claimable`, else for one that
    knows its type and version.
    """

    reason: str
    since: dt.datetime
    queue_name: str
    open_parents: int = 0
    due_at: dt.datetime | None = None
    is_claimable: bool = True


def get(job_id: UUID) -> AiJob | None:
    """Any job, for the engine."""
    return one(AiJob, "id = %(id)s", {"id": job_id})


def is_overtime(job_id: UUID) -> bool:
    """Whether the execution time of its last attempt is up, by the database's clock."""
    up = "started_at + timeout_seconds * interval '1 second' < now()"
    return db.row(f"SELECT 1 FROM ai_job WHERE id = %(id)s AND {up}", {"id": job_id}) is not None


def has_result(job_id: UUID) -> bool:
    """Whether EXECUTE has left a validated result: that is never thrown away for time."""
    found = db.row("SELECT 1 FROM ai_job_result WHERE job_id = %(id)s", {"id": job_id})
    return found is not None


def of_user(job_id: UUID, user_id: UUID) -> AiJob | None:
    """The user's own job, or None."""
    owned = "id = %(id)s AND user_id = %(user_id)s"
    return one(AiJob, owned, {"id": job_id, "user_id": user_id})


def of_user_all(job_ids: Sequence[UUID], user_id: UUID) -> list[AiJob]:
    """Those of these jobs that are the user's."""
    if not job_ids:
        return []
    return list(AiJob.select().where((AiJob.id << list(job_ids)) & (AiJob.user_id == user_id)))


def page(wanted: JobFilter, *, after: Place | None, limit: int) -> list[AiJob]:
    """Up to `limit` jobs, newest first, beyond the place `after`."""
    query = AiJob.select().where(AiJob.user_id == wanted.user_id)
    if wanted.status is not None:
        stored = [name for name, shown in USER_STATUS.items() if shown == wanted.status]
        query = query.where(AiJob.lifecycle_status << stored)
    if wanted.job_type is not None:
        query = query.where(AiJob.job_type == wanted.job_type)
    if wanted.target_id is not None:
        query = query.where(AiJob.target_id == wanted.target_id)
    return newest_first(query, AiJob, after, limit)


def published(
    table: type[QuizQuestion] | type[Flashcard],
    user_id: UUID,
    base_id: UUID,
    *,
    after: Place | None,
    limit: int,
) -> list[Any]:
    """Published rows of the user's knowledge base, newest first."""
    query = (
        table.select()
        .join(KnowledgeBase, on=(KnowledgeBase.id == table.knowledge_base_id))
        .where((table.knowledge_base_id == base_id) & (KnowledgeBase.user_id == user_id))
    )
    return newest_first(query, table, after, limit)


def history(job_id: UUID) -> list[JobTransition]:
    """All transitions and checkpoints of a job, in order."""
    return list(
        JobTransition.select().where(JobTransition.job_id == job_id).order_by(JobTransition.id)
    )


def waiting_for(job: AiJob, known: Known, routes: Routes = NO_ROUTES) -> Waiting | None:
    """Why a queued or expired job is not running; None for any other."""
    if job.lifecycle_status == "expired":
        return Waiting("due_time", job.updated_at, job.queue_name)
    if job.lifecycle_status != "queued":
        return None
    row = db.row(load("waiting"), claimable_params(job.lane, known, routes) | {"job_id": job.id})
    return None if row is None else Waiting(**row)
