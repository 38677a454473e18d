"""Rows of analyses, plans and evaluations: written by projectors, read newest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg2.extras import Json

from aijobs.models import database as db
from aijobs.models.paging import Place, newest_first
from aijobs.models.tables import (
    AiJob,
    AiLearningAnalysis,
    KnowledgePoint,
    Material,
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


@dataclass(frozen=True, slots=True)
class About:
    """Which of a user's rows: those of one target, those about a knowledge base."""

    user_id: UUID
    target_id: UUID | None = None
    base_id: UUID | None = None


def page(table: Analysis, about: About, *, after: Place | None, limit: int) -> list[Any]:
    """The rows of one kind, newest first."""
    query = table.select().where(table.user_id == about.user_id)
    if about.target_id is not None:
        query = query.where(table.target_id == about.target_id)
    if about.base_id is not None:
        query = query.where(_concerns(table, about.base_id))
    return newest_first(query, table, after, limit)


def _concerns(table: Any, base_id: UUID) -> Any:
    """A row about the base, or about a point or material of it.

    What is about the user is about all bases, unless it names a point: then about that one's.
    """
    points = KnowledgePoint.select(KnowledgePoint.id).where(
        KnowledgePoint.knowledge_base_id == base_id
    )
    materials = Material.select(Material.id).where(Material.knowledge_base_id == base_id)
    of_user = table.target_type == "user"
    if hasattr(table, "knowledge_point_id"):
        point_id = table.knowledge_point_id
        of_user &= point_id.is_null() | point_id.in_(points)
    target_id = table.target_id
    return (target_id == base_id) | target_id.in_(points) | target_id.in_(materials) | of_user
