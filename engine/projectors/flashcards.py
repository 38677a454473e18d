"""flashcard_generation -> flashcard_candidate -> flashcard."""

from __future__ import annotations

from typing import Any

from aijobs.engine.projectors.content import content_hash
from aijobs.engine.projectors.transaction import Transaction, artifacts, candidates
from aijobs.models.publication import publish_flashcards
from aijobs.models.results import Artifact
from aijobs.models.tables import AiJob


def project_flashcards(tx: Transaction, job: AiJob, output: dict[str, Any]) -> list[Artifact]:
    """Publish the cards of a validated set."""
    rows = candidates(tx, job, output["flashcards"], lambda item: content_hash(item["front"]))
    publish_flashcards(job, rows)
    return artifacts("flashcard_candidate", rows)
