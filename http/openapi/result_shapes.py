"""What jobs left behind, in the lists where a learner finds it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from aijobs.engine.job_types.fields import Level, Share
from aijobs.http.openapi.shape import Absent, Id, Moment, Shape, shown, told

Difficulty = Literal["easy", "medium", "hard"]


class QuizQuestion(Shape):
    """A published question with one right option."""

    id: Id
    knowledge_base_id: Id
    question: Annotated[str, shown("Which part of the cell holds its genome?")]
    options: Annotated[list[str], shown(["The ribosome", "The nucleus", "The vacuole"])]
    answer_index: Annotated[int, told("The right option, from 0.", 1), Field(ge=0)]
    explanation: Annotated[Absent[str], shown("The nucleus holds the genome.")] = None
    difficulty: Absent[Difficulty] = None
    job_id: Id
    created_at: Moment


class Flashcard(Shape):
    """A published card."""

    id: Id
    knowledge_base_id: Id
    front: Annotated[str, shown("What makes proteins from messages?")]
    back: Annotated[str, shown("The ribosome.")]
    tags: Annotated[list[str], shown(["cell"])]
    job_id: Id
    created_at: Moment


class Mastery(Shape):
    """How well one topic is known."""

    topic: Annotated[str, shown("Nucleus")]
    score: Annotated[Share, told("From 0 to 1.", 0.9)]
    knowledge_point_id: Absent[Id] = None


class _Finding(Shape):
    id: Id
    job_id: Id
    target_type: Annotated[str, shown("user")]
    target_id: Id
    created_at: Moment


class Analysis(_Finding):
    """What a learner has mastered, by a `learning_state_analysis`."""

    summary: Annotated[str, shown("Organelles are known well, membranes are not.")]
    mastery: list[Mastery]
    confidence: Annotated[Absent[Share], shown(0.8)] = None


class WeakPoint(_Finding):
    """A topic that a learner gets wrong, by a `weak_point_analysis`."""

    topic: Annotated[str, shown("Membrane")]
    severity: Level
    evidence: Annotated[str, shown("3 of 4 answers were wrong.")]
    knowledge_point_id: Absent[Id] = None


class Recommendation(_Finding):
    """What to study next, by a `next_action_planning`."""

    title: Annotated[str, shown("Read about the membrane again")]
    priority: Level
    minutes: Annotated[int, shown(20), Field(ge=1)]
    reason: Annotated[str, shown("It was answered wrong three times.")]
    knowledge_point_id: Absent[Id] = None


class RecallEvaluation(_Finding):
    """How well a point was recalled or explained."""

    kind: Literal["active_recall", "feynman_evaluation"]
    score: Annotated[Share, told("From 0 to 1.", 0.75)]
    clarity: Annotated[Absent[Share], told("Of an explanation only.", 0.6)] = None
    missing: Annotated[list[str], told("What was left out.", ["the double envelope"])]
    feedback: Annotated[str, shown("The main idea is there.")]
