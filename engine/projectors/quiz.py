"""quiz_generation -> quiz_question_candidate -> quiz_question."""

from __future__ import annotations

from typing import Any

from aijobs.engine.projectors.content import content_hash
from aijobs.engine.projectors.transaction import Transaction, artifacts, candidates
from aijobs.models.publication import publish_questions
from aijobs.models.results import Artifact
from aijobs.models.tables import AiJob


def project_quiz(tx: Transaction, job: AiJob, output: dict[str, Any]) -> list[Artifact]:
    """Publish the questions of a validated quiz."""
    rows = candidates(tx, job, output["questions"], lambda item: content_hash(item["question"]))
    publish_questions(job, rows)
    return artifacts("quiz_question_candidate", rows)
