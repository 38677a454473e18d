"""The built-in job types: one module each, with parameters, output, rules and definition side by
side.
"""

from __future__ import annotations

from aijobs.engine.job_types import (
    active_recall,
    feynman_evaluation,
    flashcard_generation,
    learning_state_analysis,
    next_action_planning,
    quiz_generation,
    weak_point_analysis,
)

#: What a process knows without an application's own modules.
BUILTIN = tuple(
    module.DEFINITION
    for module in (
        learning_state_analysis,
        weak_point_analysis,
        next_action_planning,
        quiz_generation,
        flashcard_generation,
        active_recall,
        feynman_evaluation,
    )
)
