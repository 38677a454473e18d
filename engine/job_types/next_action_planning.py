"""What a learner should do next, in minutes and with reasons."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from aijobs.engine.definition import JobDefinition
from aijobs.engine.job_types.fields import Level, Output, Parameters, Ref, Title


class PlanParameters(Parameters):
    """Nothing to choose."""


class Action(Output):
    title: Title
    priority: Level
    minutes: Annotated[int, Field(ge=1, le=600)]
    reason: Annotated[str, Field(min_length=1, max_length=2000)]
    ref: Ref = None


class Plan(Output):
    actions: Annotated[list[Action], Field(min_length=1)]


DEFINITION = JobDefinition(
    job_type="next_action_planning",
    label="Next actions",
    description="What to study next, for how long and why.",
    domain="analysis",
    queue_name="ai-background",
    target_types=frozenset({"user"}),
    parameters=PlanParameters,
    output_model=Plan,
    items_field="actions",
    max_output_tokens=4_000,
    prompt_key="next_action_planning",
    projector="next_action_planning",
)
