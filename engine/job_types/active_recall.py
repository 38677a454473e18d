"""How much of a point a learner recalled, and what was missing."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from aijobs.engine.definition import JobDefinition
from aijobs.engine.job_types.fields import AnsweredParameters, Notes, Output, Share


class Recall(Output):
    score: Share
    missing: Notes
    feedback: Annotated[str, Field(min_length=1, max_length=4000)]


DEFINITION = JobDefinition(
    job_type="active_recall",
    label="Active recall",
    description="Judges what a learner wrote from memory about one point.",
    domain="analysis",
    queue_name="ai-analysis",
    target_types=frozenset({"knowledge_point"}),
    parameters=AnsweredParameters,
    output_model=Recall,
    max_output_tokens=2_000,
    prompt_key="active_recall",
    projector="active_recall",
)
