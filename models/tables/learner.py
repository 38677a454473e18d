"""Learner data: what snapshots are built from."""

from __future__ import annotations

from peewee import (
    BooleanField,
    DateTimeField,
    DoubleField,
    IntegerField,
    JSONField,
    TextField,
    UUIDField,
)

from aijobs.models.tables.base import NOW, Table, default, foreign, index, one_of, rule

ACTIVITIES = ("quiz", "flashcard", "recall", "reading")


class LearnerProfile(Table):
    """What a learner told about themselves."""

    user_id = UUIDField(primary_key=True)
    goals = TextField(null=True)
    level = TextField(null=True)
    locale = TextField(null=True)
    preferences = JSONField(constraints=default("'{}'::jsonb"))
    display_name = TextField(
        null=True
    )  # never leaves the database; redaction removes it from texts
    updated_at = DateTimeField(constraints=NOW)

    class Meta:
        table_name = "learner_profile"


class KnowledgeBase(Table):
    """A collection of knowledge points of one user."""

    id = UUIDField(primary_key=True)
    user_id = UUIDField()
    title = TextField()
    created_at = DateTimeField(constraints=NOW)
    updated_at = DateTimeField(constraints=NOW)

    class Meta:
        table_name = "knowledge_base"


index(KnowledgeBase, "knowledge_base_by_user", "user_id, created_at, id")


class KnowledgePoint(Table):
    """One thing to know."""

    id = UUIDField(primary_key=True)
    knowledge_base_id = UUIDField()
    title = TextField()
    body = TextField()
    tags = JSONField(constraints=default("'[]'::jsonb"))
    position = IntegerField()
    created_at = DateTimeField(constraints=NOW)

    class Meta:
        table_name = "knowledge_point"
        constraints = [foreign("knowledge_base_id", "knowledge_base (id)")]


index(KnowledgePoint, "knowledge_point_position", "knowledge_base_id, position, id")


class Material(Table):
    """A longer text of one user."""

    id = UUIDField(primary_key=True)
    user_id = UUIDField()
    knowledge_base_id = UUIDField(null=True)
    title = TextField()
    body = TextField()
    created_at = DateTimeField(constraints=NOW)

    class Meta:
        table_name = "material"
        constraints = [foreign("knowledge_base_id", "knowledge_base (id)")]


index(Material, "material_by_user", "user_id, created_at, id")
index(Material, "material_base", "knowledge_base_id")


class StudyRecord(Table):
    """One act of studying one point. `score` is 0-1."""

    id = UUIDField(primary_key=True)
    user_id = UUIDField()
    knowledge_point_id = UUIDField()
    activity = TextField()
    correct = BooleanField(null=True)
    score = DoubleField(null=True)
    duration_ms = IntegerField(null=True)
    at = DateTimeField(constraints=NOW)

    class Meta:
        table_name = "study_record"
        constraints = [
            foreign("knowledge_point_id", "knowledge_point (id)"),
            one_of("study_record", "activity", *ACTIVITIES),
            rule("study_record_score_range", "score BETWEEN 0 AND 1"),
            rule("study_record_duration_sign", "duration_ms >= 0"),
        ]


index(StudyRecord, "study_record_by_point", "user_id, knowledge_point_id, at")
index(StudyRecord, "study_record_by_user", "user_id, at, id")
index(StudyRecord, "study_record_point", "knowledge_point_id")
