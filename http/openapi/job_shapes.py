"""A job as its user sees it, and what it produced, in full."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from aijobs.engine.job_types.fields import Level, Share
from aijobs.http.openapi.job_examples import SUCCEEDED
from aijobs.http.openapi.result_shapes import Difficulty, Mastery
from aijobs.http.openapi.shape import Absent, Id, Moment, Shape, shown, told


class Waiting(Shape):
    """Why a job is not running yet: the first reason that holds."""

    reason: Annotated[
        Literal["due_time", "queue", "queue_paused", "circuit_open", "budget", "dependencies"],
        told("What the job waits for."),
    ]
    since: Annotated[Moment, told("Since when it has waited for that.")]
    detail: Annotated[Absent[str], shown("waits for a free worker of queue ai-interactive")] = None


class ArtifactRef(Shape):
    """One thing that a job produced; `GET /jobs/{jobId}/result` shows it in full."""

    artifact_type: Annotated[str, shown("quiz_question_candidate")]
    artifact_id: Id


class ResultSummary(Shape):
    """What a succeeded job produced, by type and id."""

    artifact_count: Annotated[int, shown(1)]
    artifacts: list[ArtifactRef]


class Job(Shape):
    """A job. Fields that have nothing to say yet are left out."""

    model_config = ConfigDict(json_schema_extra={"examples": [SUCCEEDED]})

    job_id: Id
    job_type: Annotated[str, shown("quiz_generation")]
    lifecycle_status: Annotated[
        Literal["queued", "running", "succeeded", "failed", "cancelled"],
        told("The last three are final."),
    ]
    queue_name: Annotated[str, shown("ai-interactive")]
    priority: Annotated[int, told("0 first, 100 last.", 50), Field(ge=0, le=100)]
    progress: Annotated[int, told("In percent.", 100), Field(ge=0, le=100)]
    created_at: Moment
    started_at: Annotated[Absent[Moment], told("When its latest attempt began.")] = None
    finished_at: Annotated[Absent[Moment], told("When it reached a final status.")] = None
    error_code: Annotated[Absent[str], told("Why it failed.", "OUTPUT_TRUNCATED")] = None
    public_error_message: Annotated[
        Absent[str], told("The same as a sentence, in the language of `Accept-Language`.")
    ] = None
    cancel_requested: Annotated[bool, told("Whether somebody has asked to cancel it.")]
    result: Annotated[Absent[ResultSummary], told("When it has succeeded.")] = None
    waiting_for: Annotated[
        Absent[Waiting],
        told("While it is queued, why it is not running. Not in lists."),
    ] = None


class _Artifact(Shape):
    artifact_id: Id
    ordinal: Annotated[int, told("Its place in the answer, from 0.", 0), Field(ge=0)]


class _Candidate(_Artifact):
    state: Annotated[
        Literal["candidate", "published", "duplicate"],
        told("`duplicate`: the knowledge base had the same content already.", "published"),
    ]
    published_id: Annotated[Absent[Id], told("The published row, its own or the older one.")] = None
    knowledge_point_id: Annotated[Absent[Id], told("The point that it was made from.")] = None


class QuestionCandidate(_Candidate):
    """A quiz question."""

    artifact_type: Literal["quiz_question_candidate"]
    question: Annotated[str, shown("Which part of the cell holds its genome?")]
    options: Annotated[list[str], shown(["The ribosome", "The nucleus", "The vacuole"])]
    answer_index: Annotated[int, told("The right option, from 0.", 1), Field(ge=0)]
    explanation: Annotated[Absent[str], shown("The nucleus holds the genome.")] = None
    difficulty: Absent[Difficulty] = None


class FlashcardCandidate(_Candidate):
    """A flashcard."""

    artifact_type: Literal["flashcard_candidate"]
    front: Annotated[str, shown("What makes proteins from messages?")]
    back: Annotated[str, shown("The ribosome.")]
    tags: Annotated[Absent[list[str]], shown(["cell"])] = None


class AnalysisArtifact(_Artifact):
    """What a learner has mastered."""

    artifact_type: Literal["ai_learning_analysis"]
    summary: Annotated[str, shown("Organelles are known well, membranes are not.")]
    mastery: list[Mastery]
    confidence: Annotated[Absent[Share], shown(0.8)] = None


class WeakPointArtifact(_Artifact):
    """A topic that a learner gets wrong."""

    artifact_type: Literal["weak_point_candidate"]
    topic: Annotated[str, shown("Membrane")]
    severity: Level
    evidence: Annotated[str, shown("3 of 4 answers were wrong.")]
    knowledge_point_id: Absent[Id] = None


class RecommendationArtifact(_Artifact):
    """What to study next."""

    artifact_type: Literal["next_action_recommendation"]
    title: Annotated[str, shown("Read about the membrane again")]
    priority: Level
    minutes: Annotated[int, shown(20)]
    reason: Annotated[str, shown("It was answered wrong three times.")]
    knowledge_point_id: Absent[Id] = None


class EvaluationArtifact(_Artifact):
    """How well a point was recalled or explained."""

    artifact_type: Literal["recall_evaluation"]
    kind: Literal["active_recall", "feynman_evaluation"]
    score: Annotated[Share, shown(0.75)]
    clarity: Annotated[Absent[Share], told("Of an explanation only.", 0.6)] = None
    missing: Annotated[list[str], shown(["the double envelope"])]
    feedback: Annotated[str, shown("The main idea is there.")]


class Result(Shape):
    """Everything that a job produced, in the order of its answer."""

    job_id: Id
    job_type: Annotated[str, shown("quiz_generation")]
    artifact_count: Annotated[int, shown(1)]
    artifacts: list[
        Annotated[
            QuestionCandidate
            | FlashcardCandidate
            | AnalysisArtifact
            | WeakPointArtifact
            | RecommendationArtifact
            | EvaluationArtifact,
            Field(discriminator="artifact_type"),
        ]
    ]
