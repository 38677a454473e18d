"""Records of studying: each names a point of the user's own; they are added, never changed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg2.extras import Json

from aijobs.models import database as db
from aijobs.models.paging import Place, newest_first
from aijobs.models.tables import StudyRecord


@dataclass(frozen=True, slots=True)
class NewRecord:
    """One act of studying. `score` is 0-1; `at` is aware."""

    id: UUID
    knowledge_point_id: UUID
    activity: str
    correct: bool | None
    score: float | None
    duration_ms: int | None
    at: dt.datetime


def add_records(user_id: UUID, records: Sequence[NewRecord]) -> set[UUID]:
    """Store the records, all or none. Returns the points that are not the user's: then none is."""
    wanted = {record.knowledge_point_id for record in records}
    params = {
        "user_id": user_id,
        "points": list(wanted),
        "items": Json([_item(record) for record in records]),
    }

    def work() -> set[UUID]:
        missing = wanted - {row["id"] for row in db.rows(_LOCK_POINTS, params)}
        if not missing:
            db.rows(_ADD, params)
        return missing

    return db.transact("learner", work)


def page(
    user_id: UUID, point_id: UUID | None, *, after: Place | None, limit: int
) -> list[StudyRecord]:
    """The user's records, latest first."""
    query = StudyRecord.select().where(StudyRecord.user_id == user_id)
    if point_id is not None:
        query = query.where(StudyRecord.knowledge_point_id == point_id)
    return newest_first(query, StudyRecord, after, limit, by="at")


def _item(record: NewRecord) -> dict[str, Any]:
    return {
        "id": str(record.id),
        "point": str(record.knowledge_point_id),
        "activity": record.activity,
        "correct": record.correct,
        "score": record.score,
        "duration_ms": record.duration_ms,
        "at": record.at.isoformat(),
    }


#: In one order, so that two requests for the same points do not wait for each other in a circle.
_LOCK_POINTS = """
SELECT point.id FROM knowledge_point point
JOIN knowledge_base base ON base.id = point.knowledge_base_id
WHERE point.id = ANY (%(points)s::uuid[]) AND base.user_id = %(user_id)s
ORDER BY point.id FOR KEY SHARE OF point
"""

_ADD = """
INSERT INTO study_record
    (id, user_id, knowledge_point_id, activity, correct, score, duration_ms, at)
SELECT id, %(user_id)s, point, activity, correct, score, duration_ms, at
FROM jsonb_to_recordset(%(items)s) AS item (id uuid, point uuid, activity text, correct boolean,
    score float, duration_ms int, at timestamptz)
ON CONFLICT (id) DO NOTHING
"""
