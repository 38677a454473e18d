"""The frozen input of a job, built from learner data: numbered source items, statistics,
parameters.

Invariant: the same learner data and parameters give the same content and hash; nothing in it names
a person.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic import BaseModel

from aijobs.engine.answer import output_hash
from aijobs.engine.definition import JobDefinition
from aijobs.engine.errors import SnapshotFault
from aijobs.engine.redaction import redact, redact_all
from aijobs.engine.sentence import Sentence
from aijobs.models import learner
from aijobs.models.tables import LearnerProfile

ANSWER_PARAMETER = "answerText"
MATERIAL = "material"
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
    definition: JobDefinition,
    source: Source,
    params: BaseModel,
    *,
    budget_bytes: int,
) -> Snapshot:
    """Build a snapshot on the thread's open connection.

    Raises SnapshotFault when the target is gone or there is nothing in it, PointsNotFound for
    chosen points that are not in it.
    """
    target = _target(source, budget_bytes)
    points = _chosen(target.items, params)
    if not points:
        nothing = Sentence(
            "{target_type} {target_id} has nothing to work on",
            target_type=source.target_type,
            target_id=source.target_id,
        )
        raise SnapshotFault(nothing)
    kept, cut = _within_budget(points, budget_bytes)
    profile = learner.profile_of(source.user_id)
    names = (profile.display_name,) if profile is not None and profile.display_name else ()
    parameters = params.model_dump(mode="json", by_alias=True, exclude_none=True)
    if ANSWER_PARAMETER in parameters:
        parameters[ANSWER_PARAMETER] = redact(parameters[ANSWER_PARAMETER], names=names)
    content = {
        "profile": _profile(profile, names),
        "target": {
            "type": source.target_type,
            "id": str(source.target_id),
            "title": target.title,
        },
        "items": [_item(ref, point) for ref, point in kept],
        "statistics": [_statistics(ref, point) for ref, point in kept if is_point(point)],
        "parameters": parameters,
        "answer_text": parameters.get(ANSWER_PARAMETER),
        "cuts": [{"id": str(point["id"]), "title": point["title"]} for point in cut],
    }
    return Snapshot(content, output_hash(content))


def has_answer(definition: JobDefinition) -> bool:
    """Whether requests of this type bring a learner's own text."""
    return "answer_text" in definition.parameters.model_fields


def refs_of(content: dict[str, Any]) -> Refs:
    """Which knowledge point each ref of a snapshot stands for."""
    return {item["ref"]: UUID(item["id"]) for item in content["items"] if is_point(item)}


def is_point(item: dict[str, Any]) -> bool:
    """Whether a source item is a knowledge point (a material is none)."""
    return item.get("kind") != MATERIAL


@dataclass(frozen=True, slots=True)
class _Target:
    title: str
    items: list[dict[str, Any]]


def _target(source: Source, budget_bytes: int) -> _Target:
    """The target's title and source items. Raises SnapshotFault when it is gone."""
    found = _TARGETS[source.target_type](source, budget_bytes)
    if found is None:
        gone = Sentence(
            "{target_type} {target_id} does not exist",
            target_type=source.target_type,
            target_id=source.target_id,
        )
        raise SnapshotFault(gone)
    return found


def _of_base(source: Source, _budget: int) -> _Target | None:
    base = learner.base_of(source.target_id, source.user_id)
    if base is None:
        return None
    return _Target(base.title, learner.source_points(source.user_id, base_id=base.id))


def _of_user(source: Source, _budget: int) -> _Target | None:
    if source.target_id != source.user_id:
        return None
    return _Target("all knowledge bases", learner.source_points(source.user_id))


def _of_point(source: Source, _budget: int) -> _Target | None:
    points = learner.source_points(source.user_id, point_id=source.target_id)
    return _Target(points[0]["title"], points) if points else None


def _of_material(source: Source, budget_bytes: int) -> _Target | None:
    """The material's text, cut to half of the budget, then the points of its knowledge base."""
    material = learner.material_of(source.target_id, source.user_id)
    if material is None:
        return None
    room = budget_bytes // 2
    text = {
        "id": material.id,
        "kind": MATERIAL,
        "title": material.title,
        "body": material.body.encode()[:room].decode(errors="ignore"),
        "tags": [],
        "position": 0,
    }
    base_id = material.knowledge_base_id
    points = [] if base_id is None else learner.source_points(source.user_id, base_id=base_id)
    return _Target(material.title, [text, *points])


_TARGETS: dict[str, Callable[[Source, int], _Target | None]] = {
    "knowledge_base": _of_base,
    "user": _of_user,
    "knowledge_point": _of_point,
    "material": _of_material,
}


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
    """How much a point wants study: days since it was seen x its error rate. A material stays."""
    if not is_point(point):
        return math.inf
    seen: dt.datetime | None = point["last_seen"]
    days = (
        _NEVER_SEEN_DAYS
        if seen is None
        else (dt.datetime.now(dt.UTC) - seen).total_seconds() / 86_400
    )
    accuracy = point["accuracy"]
    return days * (_UNKNOWN_ERROR_RATE if accuracy is None else 1.0 - float(accuracy))


def _profile(profile: LearnerProfile | None, names: tuple[str, ...]) -> dict[str, Any]:
    """What the learner told of themselves, without anything that names or reaches them."""
    if profile is None:
        return {"goals": None, "level": None, "locale": None, "preferences": {}}
    return {
        "goals": redact_all(profile.goals, names=names),
        "level": redact_all(profile.level, names=names),
        "locale": profile.locale,
        "preferences": redact_all(profile.preferences, names=names),
    }


def _item(ref: str, point: dict[str, Any]) -> dict[str, Any]:
    return {
        "ref": ref,
        "id": str(point["id"]),
        "title": point["title"],
        "body": point["body"],
        "tags": point["tags"],
        **({} if is_point(point) else {"kind": MATERIAL}),
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
