"""Longer texts of one user, alone or beside the points of a knowledge base.

Invariant: a material and its knowledge base belong to the same user.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from peewee import fn

from aijobs.models import database as db
from aijobs.models.errors import TargetGone
from aijobs.models.learner import material_of
from aijobs.models.paging import Place, newest_first
from aijobs.models.tables import Material


@dataclass(frozen=True, slots=True)
class NewMaterial:
    """A material to add, or what one becomes."""

    id: UUID
    title: str
    body: str
    knowledge_base_id: UUID | None


def add(user_id: UUID, new: NewMaterial) -> Material:
    """Store a material. Raises TargetGone when the user has no such knowledge base."""
    db.statement("learner", _ADD, _params(user_id, new))
    made = db.read(lambda: material_of(new.id, user_id))
    if made is None:
        raise TargetGone(f"knowledge base {new.knowledge_base_id}")
    return made


def change(user_id: UUID, new: NewMaterial) -> bool:
    """Whether there was one to change. Raises TargetGone when there is no such knowledge base."""

    def work() -> bool:
        if new.knowledge_base_id is not None and not db.rows(_LOCK_BASE, params):
            raise TargetGone(f"knowledge base {new.knowledge_base_id}")
        return bool(db.rows(_CHANGE, params))

    params = _params(user_id, new)
    return db.transact("learner", work)


def delete(material_id: UUID, user_id: UUID) -> bool:
    """Whether there was one to delete."""
    return bool(
        db.statement(
            "learner",
            "DELETE FROM material WHERE id = %(id)s AND user_id = %(user_id)s RETURNING id",
            {"id": material_id, "user_id": user_id},
        )
    )


def page(user_id: UUID, base_id: UUID | None, *, after: Place | None, limit: int) -> list[Material]:
    """The user's materials, newest first, with their `length` in characters for their bodies."""
    query = Material.select(
        Material.id,
        Material.knowledge_base_id,
        Material.title,
        Material.created_at,
        fn.length(Material.body).coerce(False).alias("length"),
    ).where(Material.user_id == user_id)
    if base_id is not None:
        query = query.where(Material.knowledge_base_id == base_id)
    return newest_first(query, Material, after, limit)


def _params(user_id: UUID, new: NewMaterial) -> dict[str, Any]:
    return {
        "id": new.id,
        "user_id": user_id,
        "base": new.knowledge_base_id,
        "title": new.title,
        "body": new.body,
    }


#: The lock lets the knowledge base be deleted before or after, not in between.
_LOCK_BASE = """
SELECT id FROM knowledge_base WHERE id = %(base)s AND user_id = %(user_id)s FOR KEY SHARE
"""

_ADD = f"""
WITH base AS MATERIALIZED ({_LOCK_BASE})
INSERT INTO material (id, user_id, knowledge_base_id, title, body)
SELECT %(id)s, %(user_id)s, %(base)s, %(title)s, %(body)s
WHERE %(base)s::uuid IS NULL OR EXISTS (SELECT 1 FROM base)
ON CONFLICT (id) DO NOTHING
"""

_CHANGE = """
UPDATE material SET title = %(title)s, body = %(body)s, knowledge_base_id = %(base)s
WHERE id = %(id)s AND user_id = %(user_id)s RETURNING id
"""
