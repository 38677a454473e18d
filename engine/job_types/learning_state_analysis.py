"""What a learner has mastered, topic by topic, from the study log."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from aijobs.engine.definition import JobDefinition
from aijobs.engine.job_types.fields import Output, Parameters, Ref, Share, Title


class StateParameters(Parameters):
    """Nothing to choose."""


class Mastery(Output):
    topic: Title
    score: Share
    ref: Ref = None


class LearningState(Output):
    summary: Annotated[str, Field(min_length=1, max_length=4000)]
    mastery: Annotated[list[Mastery], Field(min_length=1)]
    confidence: Share | None = None


DEFINITION = JobDefinition(
    job_type="learning_state_analysis",
    label="Learning state",
    description="A summary of what a learner has mastered.",
    domain="analysis",
    queue_name="ai-background",
    target_types=frozenset({"user"}),
    parameters=StateParameters,
    output_model=LearningState,
    items_field="mastery",
    max_output_tokens=4_000,
    prompt_key="learning_state_analysis",
    projector="learning_state_analysis",
)
