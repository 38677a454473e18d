"""The built-in job types: one module each, with parameters, output, rules and definition side by
side.
"""

from __future__ import annotations

from aijobs.engine.job_types import flashcard_generation, quiz_generation

#: What a process knows without an application's own modules.
BUILTIN = (quiz_generation.DEFINITION, flashcard_generation.DEFINITION)
