"""A learner's own data, as it is answered."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from aijobs.engine.job_types.fields import Share
from aijobs.http.openapi.shape import Absent, Id, Moment, Shape, shown, told


class KnowledgeBase(Shape):
    """A collection of knowledge points."""

    id: Id
    title: Annotated[str, shown("Cell biology")]
    created_at: Moment


class KnowledgePoint(Shape):
    """One thing to know."""

    id: Id
    knowledge_base_id: Id
    title: Annotated[str, shown("Nucleus")]
    body: Annotated[str, shown("The nucleus is the part of the cell that holds its genome.")]
    tags: Annotated[list[str], shown(["cell"])]
    position: Annotated[int, told("Its place in the knowledge base.", 0)]
    created_at: Moment


class PointsAdded(Shape):
    """The points that were made, in the order they were sent."""

    items: list[KnowledgePoint]


class Imported(Shape):
    """How much a file held."""

    imported: Annotated[int, told("Points added.", 2), Field(ge=1)]


class MaterialLine(Shape):
    """A material in a list: its length instead of its text."""

    id: Id
    knowledge_base_id: Absent[Id] = None
    title: Annotated[str, shown("Lecture 3")]
    length: Annotated[int, told("Of the text, in characters.", 5231)]
    created_at: Moment


class Material(Shape):
    """A longer text."""

    id: Id
    knowledge_base_id: Absent[Id] = None
    title: Annotated[str, shown("Lecture 3")]
    body: Annotated[str, shown("Every cell has a membrane.")]
    created_at: Moment


class StudyRecord(Shape):
    """One act of studying."""

    id: Id
    knowledge_point_id: Id
    activity: Literal["quiz", "flashcard", "recall", "reading"]
    correct: Annotated[Absent[bool], shown(True)] = None
    score: Annotated[Absent[Share], shown(0.8)] = None
    duration_ms: Annotated[Absent[int], shown(5400)] = None
    at: Moment


class RecordsAdded(Shape):
    """How many records were stored."""

    count: Annotated[int, shown(1), Field(ge=1)]


class Profile(Shape):
    """What a learner told about themselves; null where nothing was told."""

    goals: Annotated[str | None, shown("Pass the exam in June")]
    level: Annotated[str | None, shown("first year")]
    locale: Annotated[str | None, shown("en")]
    preferences: Annotated[dict[str, Any], shown({"pace": "slow"})]
    display_name: Annotated[str | None, shown("Ada")]
