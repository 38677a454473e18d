"""Reading what jobs produced, by artifact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from aijobs.models import database as db
from aijobs.models.results import Artifact

#: artifact_type -> what an artifact in full shows.
_QUERIES = {
    kind: f"SELECT id, content, state, published_id FROM {kind} WHERE id = ANY (%(ids)s)"
    for kind in ("quiz_question_candidate", "flashcard_candidate")
} | {
    kind: f"SELECT id, {columns} FROM {kind} WHERE id = ANY (%(ids)s)"
    for kind, columns in {
        "ai_learning_analysis": "summary, mastery, confidence",
        "weak_point_candidate": "topic, severity, evidence, knowledge_point_id::text",
        "next_action_recommendation": "title, priority, minutes, reason, knowledge_point_id::text",
        "recall_evaluation": "kind, score, clarity, missing, feedback",
    }.items()
}


def rows_of(artifacts: Sequence[Artifact]) -> dict[UUID, dict[str, Any]]:
    """The row of each artifact, by its id."""
    found: dict[UUID, dict[str, Any]] = {}
    for kind in {artifact.artifact_type for artifact in artifacts}:
        ids = [artifact.artifact_id for artifact in artifacts if artifact.artifact_type == kind]
        for row in db.rows(_QUERIES[kind], {"ids": ids}):
            found[row.pop("id")] = _shown(row)
    return found


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """A candidate's content with its state; any other row as it is."""
    if "content" not in row:
        return row
    published_id = row["published_id"]
    return {
        **row["content"],
        "state": row["state"],
        "published_id": None if published_id is None else str(published_id),
    }
