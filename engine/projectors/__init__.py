"""What turns a validated output into business rows, inside the PROJECT transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aijobs.engine.projectors.analyses import (
    project_actions,
    project_learning_state,
    project_recall,
    project_weak_points,
)
from aijobs.engine.projectors.flashcards import project_flashcards
from aijobs.engine.projectors.quiz import project_quiz
from aijobs.engine.projectors.transaction import Transaction
from aijobs.models.results import Artifact
from aijobs.models.tables import AiJob

#: `project(tx, job, output) -> artifacts`. A second projection changes nothing and returns the
#: same.
Projector = Callable[[Transaction, AiJob, dict[str, Any]], list[Artifact]]

PROJECTORS: dict[str, Projector] = {
    "quiz_generation": project_quiz,
    "flashcard_generation": project_flashcards,
    "learning_state_analysis": project_learning_state,
    "weak_point_analysis": project_weak_points,
    "next_action_planning": project_actions,
    "active_recall": project_recall,
    "feynman_evaluation": project_recall,
}

__all__ = ["PROJECTORS", "Artifact", "Projector", "Transaction"]
