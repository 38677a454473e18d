"""What jobs produce: the rows that artifacts point to."""

from __future__ import annotations

from typing import Any

from peewee import (
    CompositeKey,
    DateTimeField,
    DoubleField,
    IntegerField,
    JSONField,
    SmallIntegerField,
    TextField,
    UUIDField,
)

from aijobs.models.tables.base import NOW, Table, default, foreign, index, one_of, rule

CANDIDATE_STATES = ("candidate", "published", "duplicate")


def _of_job(table: str) -> list[Any]:
    return [rule(f"{table}_ordinal_sign", "ordinal >= 0"), foreign("job_id", "ai_job (id)")]


class AiLearningAnalysis(Table):
    """A learning_state_analysis."""

    id = UUIDField(primary_key=True)
    job_id = UUIDField()
    user_id = UUIDField()
    target_type = TextField()
    target_id = UUIDField()
    ordinal = IntegerField()
    summary = TextField()
    mastery = JSONField()
    confidence = DoubleField(null=True)
    created_at = DateTimeField(constraints=NOW)

    class Meta:
        table_name = "ai_learning_analysis"
        constraints = _of_job("ai_learning_analysis")


class WeakPointCandidate(Table):
    """One weak point of a weak_point_analysis."""

    id = UUIDField(primary_key=True)
    job_id = UUIDField()
    user_id = UUIDField()
    target_type = TextField()
    target_id = UUIDField()
    ordinal = IntegerField()
    topic = TextField()
    severity = TextField()
    evidence = TextField()
    knowledge_point_id = UUIDField(null=True)
    created_at = DateTimeField(constraints=NOW)

    class Meta:
        table_name = "weak_point_candidate"
        constraints = [
            *_of_job("weak_point_candidate"),
            one_of("weak_point_candidate", "severity", "low", "medium", "high"),
        ]


class NextActionRecommendation(Table):
    """One action of a next_action_planning."""

    id = UUIDField(primary_key=True)
    job_id = UUIDField()
    user_id = UUIDField()
    target_type = TextField()
    target_id = UUIDField()
    ordinal = IntegerField()
    title = TextField()
    priority = TextField()
    minutes = IntegerField()
    reason = TextField()
    knowledge_point_id = UUIDField(null=True)
    created_at = DateTimeField(constraints=NOW)

    class Meta:
        table_name = "next_action_recommendation"
        constraints = [
            *_of_job("next_action_recommendation"),
            one_of("next_action_recommendation", "priority", "low", "medium", "high"),
        ]


class RecallEvaluation(Table):
    """An active_recall or a feynman_evaluation (then with clarity)."""

    id = UUIDField(primary_key=True)
    job_id = UUIDField()
    user_id = UUIDField()
    target_type = TextField()
    target_id = UUIDField()
    ordinal = IntegerField()
    kind = TextField()
    score = DoubleField()
    clarity = DoubleField(null=True)
    missing = JSONField()
    feedback = TextField()
    created_at = DateTimeField(constraints=NOW)

    class Meta:
        table_name = "recall_evaluation"
        constraints = [
            *_of_job("recall_evaluation"),
            one_of("recall_evaluation", "kind", "active_recall", "feynman_evaluation"),
        ]


class QuizQuestion(Table):
    """A published question: unique by content within its knowledge base."""

    id = UUIDField(primary_key=True)
    knowledge_base_id = UUIDField()
    content_hash = TextField()
    job_id = UUIDField()
    question = TextField()
    options = JSONField()
    answer_index = SmallIntegerField()
    explanation = TextField(null=True)
    difficulty = TextField(null=True)
    knowledge_point_id = UUIDField(null=True)
    created_at = DateTimeField(constraints=NOW)

    class Meta:
        table_name = "quiz_question"
        constraints = [foreign("knowledge_base_id", "knowledge_base (id)")]


class Flashcard(Table):
    """A published card: unique by content within its knowledge base."""

    id = UUIDField(primary_key=True)
    knowledge_base_id = UUIDField()
    content_hash = TextField()
    job_id = UUIDField()
    front = TextField()
    back = TextField()
    tags = JSONField(constraints=default("'[]'::jsonb"))
    knowledge_point_id = UUIDField(null=True)
    created_at = DateTimeField(constraints=NOW)

    class Meta:
        table_name = "flashcard"
        constraints = [foreign("knowledge_base_id", "knowledge_base (id)")]


class QuizQuestionCandidate(Table):
    """One question as the model gave it; `published_id` is its published row, or the original's."""

    id = UUIDField(primary_key=True)
    job_id = UUIDField()
    knowledge_base_id = UUIDField()
    ordinal = IntegerField()
    content = JSONField()
    content_hash = TextField()
    state = TextField(constraints=default("'candidate'"))
    published_id = UUIDField(null=True)
    created_at = DateTimeField(constraints=NOW)

    class Meta:
        table_name = "quiz_question_candidate"
        constraints = [
            *_of_job("quiz_question_candidate"),
            one_of("quiz_question_candidate", "state", *CANDIDATE_STATES),
        ]


class FlashcardCandidate(Table):
    """One card as the model gave it; `published_id` is its published row, or the original's."""

    id = UUIDField(primary_key=True)
    job_id = UUIDField()
    knowledge_base_id = UUIDField()
    ordinal = IntegerField()
    content = JSONField()
    content_hash = TextField()
    state = TextField(constraints=default("'candidate'"))
    published_id = UUIDField(null=True)
    created_at = DateTimeField(constraints=NOW)

    class Meta:
        table_name = "flashcard_candidate"
        constraints = [
            *_of_job("flashcard_candidate"),
            one_of("flashcard_candidate", "state", *CANDIDATE_STATES),
        ]


class Notification(Table):
    """What a user is told of a job, once per kind."""

    id = UUIDField()
    user_id = UUIDField()
    job_id = UUIDField()
    kind = TextField()
    payload = JSONField(constraints=default("'{}'::jsonb"))
    read_at = DateTimeField(null=True)
    created_at = DateTimeField(constraints=NOW)

    class Meta:
        table_name = "notification"
        primary_key = CompositeKey("job_id", "kind")
        constraints = [foreign("job_id", "ai_job (id)")]


_PUBLISHED: tuple[type[Table], ...] = (QuizQuestion, Flashcard)
_CANDIDATES: tuple[type[Table], ...] = (QuizQuestionCandidate, FlashcardCandidate)
_ANALYSES: tuple[type[Table], ...] = (
    AiLearningAnalysis,
    WeakPointCandidate,
    NextActionRecommendation,
    RecallEvaluation,
)

for _table in _PUBLISHED:
    _name = _table._meta.table_name
    index(_table, f"{_name}_content", "knowledge_base_id, content_hash", unique=True)
    index(_table, f"{_name}_by_base", "knowledge_base_id, created_at, id")

for _table in _CANDIDATES:
    index(_table, f"{_table._meta.table_name}_ordinal", "job_id, ordinal", unique=True)

for _table in _ANALYSES:
    _name = _table._meta.table_name
    index(_table, f"{_name}_ordinal", "job_id, ordinal", unique=True)
    index(_table, f"{_name}_by_user", "user_id, created_at, id")

index(Notification, "notification_id", "id", unique=True)
index(Notification, "notification_by_user", "user_id, created_at, id")
