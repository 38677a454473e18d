"""Rows of analyses, plans and evaluations: written by projectors, read newest first."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from psycopg2.extras import Json

from aijobs.models import database as db
from aijobs.models.paging import Place, newest_first
from aijobs.models.tables import (
    AiJob,
    AiLearningAnalysis,
    NextActionRecommendation,
    RecallEvaluation,
    WeakPointCandidate,
)

Analysis = (
    type[AiLearningAnalysis]
    | type[WeakPointCandidate]
    | type[NextActionRecommendation]
    | type[RecallEvaluation]
)

#: Columns beside those that every such table has, with the types that JSON does not tell.
_COLUMNS = {
    "ai_learning_analysis": "summary text, mastery jsonb, confidence float",
    "weak_point_candidate": "topic text, severity text, evidence text, knowledge_point_id uuid",
    "next_action_recommendation": (
        "title text, priority text, minutes int, reason text, knowledge_point_id uuid"
    ),
    "recall_evaluation": "kind text, score float, clarity float, missing jsonb, feedback text",
}


def add_rows(table: str, job: AiJob, rows: list[dict[str, Any]]) -> None:
    """Insert one row an item, its ordinal its place; rows that are there already stay.

    After a fenced statement of the same transaction.
    """
    columns = _COLUMNS[table]
    names = ", ".join(column.split()[0] for column in columns.split(", "))
    db.rows(
        f"INSERT INTO {table} (id, job_id, user_id, target_type, target_id, ordinal, {names}) "
        "SELECT id, %(job_id)s, %(user_id)s, %(target_type)s, %(target_id)s, ordinal, "
        f"{names} FROM jsonb_to_recordset(%(items)s) AS item (id uuid, ordinal int, {columns}) "
        "ON CONFLICT DO NOTHING",
        {
            "job_id": job.id,
            "user_id": job.user_id,
            "target_type": job.target_type,
            "target_id": job.target_id,
            "items": Json([{**row, "ordinal": place} for place, row in enumerate(rows)]),
        },
    )


def page(
    table: Analysis, user_id: UUID, target_id: UUID | None, *, after: Place | None, limit: int
) -> list[Any]:
    """The user's rows of one kind, of one target if given, newest first."""
    query = table.select().where(table.user_id == user_id)
    if target_id is not None:
        query = query.where(table.target_id == target_id)
    return newest_first(query, table, after, limit)
