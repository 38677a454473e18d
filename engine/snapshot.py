"""The frozen input of a job, built from learner data: numbered source items, statistics,
parameters.

Invariant: the same learner data and parameters give the same content and hash; nothing in it names
a person.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic import BaseModel

from aijobs.engine.answer import output_hash
from aijobs.engine.definition import JobDefinition
from aijobs.engine.errors import SnapshotFault
from aijobs.models import learner

REDACTION_VERSION = "0"  # nothing free-text of the learner is in these snapshots yet
_NEVER_SEEN_DAYS = 365.0
_UNKNOWN_ERROR_RATE = 0.5

#: Refs of a snapshot -> the knowledge points that they stand for.
Refs = dict[str, UUID]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Content (a JSON object) and its hash. `cuts` in it lists what the size budget left out."""

    content: dict[str, Any]
    content_hash: str


@dataclass(frozen=True, slots=True)
class Source:
    """Whose snapshot of what is wanted."""

    user_id: UUID
    target_type: str
    target_id: UUID


class PointsNotFound(Exception):
    """Chosen points are not in the target. `missing` holds their ids."""

    def __init__(self, missing: list[UUID]) -> None:
        super().__init__(", ".join(map(str, missing)))
        self.missing = missing


def build(
    definition: JobDefinition, source: Source, params: BaseModel, *, budget_bytes: int
) -> Snapshot:
    """Build a snapshot on the thread's open connection.

    Raises SnapshotFault when the target is gone or empty, PointsNotFound for unknown points.
    """
    base = learner.base_of(source.target_id, source.user_id)
    if base is None:
        raise SnapshotFault(f"{source.target_type} {source.target_id} does not exist")
    points = _chosen(learner.source_points(base.id, source.user_id), params)
    if not points:
        raise SnapshotFault(f"knowledge base {base.id} has no points")
    kept, cut = _within_budget(points, budget_bytes)
    content = {
        "profile": _profile(source.user_id),
        "target": {"type": source.target_type, "id": str(base.id), "title": base.title},
        "items": [_item(ref, point) for ref, point in kept],
        "statistics": [_statistics(ref, point) for ref, point in kept],
        "parameters": params.model_dump(mode="json", by_alias=True, exclude_none=True),
        "answer_text": None,
        "cuts": [{"id": str(point["id"]), "title": point["title"]} for point in cut],
    }
    return Snapshot(content, output_hash(content))


def refs_of(content: dict[str, Any]) -> Refs:
    """Which knowledge point each ref of a snapshot stands for."""
    return {item["ref"]: UUID(item["id"]) for item in content["items"]}


def _chosen(points: list[dict[str, Any]], params: BaseModel) -> list[dict[str, Any]]:
    wanted: list[UUID] | None = getattr(params, "point_ids", None)
    if wanted is None:
        return points
    by_id = {point["id"]: point for point in points}
    missing = [point_id for point_id in wanted if point_id not in by_id]
    if missing:
        raise PointsNotFound(missing)
    return [point for point in points if point["id"] in set(wanted)]


def _within_budget(
    points: list[dict[str, Any]], budget_bytes: int
) -> tuple[list[tuple[str, dict[str, Any]]], list[dict[str, Any]]]:
    """Keep what fits, dropping the lowest recency x error rate first, ties by position."""
    dropped: set[UUID] = set()
    size = sum(map(_size, points))
    for point in sorted(points, key=lambda p: (_need(p), -p["position"])):
        if size <= budget_bytes or len(dropped) == len(points) - 1:
            break
        dropped.add(point["id"])
        size -= _size(point)
    kept = [point for point in points if point["id"] not in dropped]
    cut = [point for point in points if point["id"] in dropped]
    return [(f"k{number}", point) for number, point in enumerate(kept, 1)], cut


def _size(point: dict[str, Any]) -> int:
    return len(point["title"].encode()) + len(point["body"].encode())


def _need(point: dict[str, Any]) -> float:
    """How much a point wants study: days since it was seen x its error rate."""
    seen: dt.datetime | None = point["last_seen"]
    days = (
        _NEVER_SEEN_DAYS
        if seen is None
        else (dt.datetime.now(dt.UTC) - seen).total_seconds() / 86_400
    )
    accuracy = point["accuracy"]
    return days * (_UNKNOWN_ERROR_RATE if accuracy is None else 1.0 - float(accuracy))


def _profile(user_id: UUID) -> dict[str, Any]:
    profile = learner.profile_of(user_id)
    if profile is None:
        return {"goals": None, "level": None, "locale": None, "preferences": {}}
    return {
        "goals": profile.goals,
        "level": profile.level,
        "locale": profile.locale,
        "preferences": profile.preferences,
    }


def _item(ref: str, point: dict[str, Any]) -> dict[str, Any]:
    return {
        "ref": ref,
        "id": str(point["id"]),
        "title": point["title"],
        "body": point["body"],
        "tags": point["tags"],
    }


def _statistics(ref: str, point: dict[str, Any]) -> dict[str, Any]:
    accuracy, seen, mean = point["accuracy"], point["last_seen"], point["mean_duration_ms"]
    return {
        "ref": ref,
        "attempts": point["attempts"],
        "accuracy": None if accuracy is None else round(float(accuracy), 4),
        "last_seen": None if seen is None else seen.astimezone(dt.UTC).isoformat(),
        "mean_duration_ms": None if mean is None else round(mean, 1),
    }
