"""Where a learner goes wrong, with the evidence from the study log."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from aijobs.engine.definition import JobDefinition
from aijobs.engine.job_types.fields import Level, Output, Parameters, Ref, Title


class WeakPointParameters(Parameters):
    """Nothing to choose."""


class WeakPoint(Output):
    topic: Title
    severity: Level
    evidence: Annotated[str, Field(min_length=1, max_length=2000)]
    ref: Ref = None


class WeakPoints(Output):
    weak_points: Annotated[list[WeakPoint], Field(min_length=1)]


DEFINITION = JobDefinition(
    job_type="weak_point_analysis",
    label="Weak points",
    description="Topics that a learner gets wrong, with evidence.",
    domain="analysis",
    queue_name="ai-background",
    target_types=frozenset({"user", "knowledge_base", "material"}),
    parameters=WeakPointParameters,
    output_model=WeakPoints,
    items_field="weak_points",
    max_output_tokens=4_000,
    prompt_key="weak_point_analysis",
    projector="weak_point_analysis",
)
