"""How well a learner explains a point in plain words, and where the explanation has gaps."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from aijobs.engine.definition import JobDefinition
from aijobs.engine.job_types.fields import AnsweredParameters, Notes, Output, Share


class Explanation(Output):
    score: Share
    clarity: Share
    gaps: Notes
    feedback: Annotated[str, Field(min_length=1, max_length=4000)]


DEFINITION = JobDefinition(
    job_type="feynman_evaluation",
    label="Feynman explanation",
    description="Judges a learner's explanation of one point in plain words.",
    domain="analysis",
    queue_name="ai-analysis",
    target_types=frozenset({"knowledge_point"}),
    parameters=AnsweredParameters,
    output_model=Explanation,
    max_output_tokens=2_000,
    prompt_key="feynman_evaluation",
    projector="feynman_evaluation",
)
