"""Learner data: knowledge bases, points and study records of one user, as snapshots read them.

Invariant: every function takes the user and finds nothing of anybody else's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg2.extras import Json

from aijobs.models import database as db
from aijobs.models.columns import one
from aijobs.models.errors import TargetGone
from aijobs.models.paging import Place, newest_first
from aijobs.models.sql import load
from aijobs.models.tables import KnowledgeBase, KnowledgePoint, LearnerProfile, Material

#: More points than a snapshot's size budget ever holds.
SOURCE_LIMIT = 5000


@dataclass(frozen=True, slots=True)
class NewPoint:
    """A knowledge point to add; its position follows the last one's."""

    id: UUID
    title: str
    body: str
    tags: tuple[str, ...] = ()


def add_base(base_id: UUID, user_id: UUID, title: str) -> KnowledgeBase:
    """Create a knowledge base."""
    db.statement(
        "learner",
        "INSERT INTO knowledge_base (id, user_id, title) VALUES (%(id)s, %(user_id)s, %(title)s) "
        "ON CONFLICT (id) DO NOTHING",
        {"id": base_id, "user_id": user_id, "title": title},
    )
    return db.read(lambda: KnowledgeBase.get_by_id(base_id))


def base_of(base_id: UUID, user_id: UUID) -> KnowledgeBase | None:
    """The user's knowledge base, or None."""
    return one(
        KnowledgeBase,
        "id = %(id)s AND user_id = %(user_id)s",
        {"id": base_id, "user_id": user_id},
    )


def owns(target_type: str, target_id: UUID, user_id: UUID) -> bool:
    """Whether a job's target is the user's. A target of type user is the user alone."""
    if target_type == "user":
        return target_id == user_id
    owned = _OWNED.get(target_type)
    return owned is not None and db.row(owned, {"id": target_id, "user_id": user_id}) is not None


def rename_base(base_id: UUID, user_id: UUID, title: str) -> bool:
    """Whether there was one to rename."""
    return bool(
        db.statement(
            "learner",
            "UPDATE knowledge_base SET title = %(title)s, updated_at = now() "
            "WHERE id = %(id)s AND user_id = %(user_id)s RETURNING id",
            {"id": base_id, "user_id": user_id, "title": title},
        )
    )


def delete_base(base_id: UUID, user_id: UUID) -> bool:
    """Delete a knowledge base with all in it; whether there was one."""
    return bool(
        db.statement(
            "learner",
            "DELETE FROM knowledge_base WHERE id = %(id)s AND user_id = %(user_id)s RETURNING id",
            {"id": base_id, "user_id": user_id},
        )
    )


def add_points(base_id: UUID, points: Sequence[NewPoint]) -> list[KnowledgePoint]:
    """Append points to a knowledge base, all or none; returns them in order. Raises TargetGone."""
    items = [
        {"id": str(p.id), "title": p.title, "body": p.body, "tags": list(p.tags)} for p in points
    ]

    def work() -> None:
        lock = "SELECT id FROM knowledge_base WHERE id = %(id)s FOR UPDATE"
        if not db.rows(lock, {"id": base_id}):
            raise TargetGone(f"knowledge base {base_id}")
        db.rows(_ADD_POINTS, {"base": base_id, "items": Json(items)})

    db.transact("learner", work)
    return db.read(
        lambda: list(
            KnowledgePoint.select()
            .where(KnowledgePoint.id << [point.id for point in points])
            .order_by(KnowledgePoint.position, KnowledgePoint.id)
        )
    )


def bases(user_id: UUID, *, after: Place | None, limit: int) -> list[KnowledgeBase]:
    """The user's knowledge bases, newest first."""
    query = KnowledgeBase.select().where(KnowledgeBase.user_id == user_id)
    return newest_first(query, KnowledgeBase, after, limit)


def points(base_id: UUID, *, after: Place | None, limit: int) -> list[KnowledgePoint]:
    """The points of a knowledge base, newest first."""
    query = KnowledgePoint.select().where(KnowledgePoint.knowledge_base_id == base_id)
    return newest_first(query, KnowledgePoint, after, limit)


def point_of(base_id: UUID, point_id: UUID) -> KnowledgePoint | None:
    """A point of a knowledge base, or None."""
    return KnowledgePoint.get_or_none(
        (KnowledgePoint.id == point_id) & (KnowledgePoint.knowledge_base_id == base_id)
    )


def change_point(base_id: UUID, point: NewPoint) -> bool:
    """Whether there was one to change."""
    params = {
        "id": point.id,
        "base": base_id,
        "title": point.title,
        "body": point.body,
        "tags": Json(list(point.tags)),
    }
    return bool(
        db.statement(
            "learner",
            "UPDATE knowledge_point SET title = %(title)s, body = %(body)s, tags = %(tags)s "
            "WHERE id = %(id)s AND knowledge_base_id = %(base)s RETURNING id",
            params,
        )
    )


def delete_point(base_id: UUID, point_id: UUID) -> bool:
    """Whether there was one to delete."""
    return bool(
        db.statement(
            "learner",
            "DELETE FROM knowledge_point WHERE id = %(id)s AND knowledge_base_id = %(base)s "
            "RETURNING id",
            {"id": point_id, "base": base_id},
        )
    )


def profile_of(user_id: UUID) -> LearnerProfile | None:
    """What the user told about themselves."""
    return one(LearnerProfile, "user_id = %(user_id)s", {"user_id": user_id})


def material_of(material_id: UUID, user_id: UUID) -> Material | None:
    """The user's material, or None."""
    return Material.get_or_none((Material.id == material_id) & (Material.user_id == user_id))


def source_points(
    user_id: UUID, *, base_id: UUID | None = None, point_id: UUID | None = None
) -> list[dict[str, Any]]:
    """The user's points (of one knowledge base, or one point) with the study statistics of each, by
    knowledge base and position; the SOURCE_LIMIT most recently studied ones of very many.

    Keys: id, title, body, tags, position, attempts, accuracy (0-1 or None), last_seen (aware
    datetime or None), mean_duration_ms (None when never timed).
    """
    params = {"user_id": user_id, "base": base_id, "point": point_id, "limit": SOURCE_LIMIT}
    return db.rows(load("source_points"), params)


_OWNED = {
    "knowledge_base": "SELECT 1 FROM knowledge_base WHERE id = %(id)s AND user_id = %(user_id)s",
    "material": "SELECT 1 FROM material WHERE id = %(id)s AND user_id = %(user_id)s",
    "knowledge_point": (
        "SELECT 1 FROM knowledge_point point "
        "JOIN knowledge_base base ON base.id = point.knowledge_base_id "
        "WHERE point.id = %(id)s AND base.user_id = %(user_id)s"
    ),
}

_ADD_POINTS = """
INSERT INTO knowledge_point (id, knowledge_base_id, title, body, tags, position)
SELECT (item->>'id')::uuid, %(base)s, item->>'title', item->>'body', item->'tags', place + (
    SELECT coalesce(max(position), 0) FROM knowledge_point WHERE knowledge_base_id = %(base)s)
FROM jsonb_array_elements(%(items)s) WITH ORDINALITY AS list (item, place)
ON CONFLICT (id) DO NOTHING
"""
