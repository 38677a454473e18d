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
    published_id = row["published_id"]
    return {
        **row["content"],
        "state": row["state"],
        "published_id": None if published_id is None else str(published_id),
    }
