"""The kinds of fields that several job types share, strict as the published schemas are.

Invariant: nothing is converted: a number in quotes, a true for a 1 and an unknown key are errors.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict
from pydantic.alias_generators import to_camel
from pydantic.json_schema import SkipJsonSchema

from aijobs.engine.answer.marks import NeverNull


class Output(BaseModel):
    """Part of what a model answers."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Parameters(BaseModel):
    """What a request may ask of a job type, camelCase on the wire."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, alias_generator=to_camel, allow_inf_nan=False
    )


class PointParameters(Parameters):
    """A request about chosen points of its target; None means all of them."""

    point_ids: Annotated[
        list[Annotated[UUID, Strict(False)]] | None, Field(min_length=1, max_length=500)
    ] = None


class AnsweredParameters(Parameters):
    """A request that judges what the learner wrote."""

    answer_text: Annotated[str, Field(min_length=1, max_length=8000)]


def _not_null(value: Any) -> Any:
    if value is None:
        raise ValueError("must be left out or have a value, not null")
    return value


_Given = BeforeValidator(_not_null)
Title = Annotated[str, Field(min_length=1, max_length=200)]
Ref = Annotated[str | None, Field(max_length=16, description="snapshot item, e.g. k3")]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Level = Literal["low", "medium", "high"]
Notes = Annotated[list[Annotated[str, Field(min_length=1, max_length=500)]], Field(max_length=50)]
#: Optional without being nullable: left out, or a value.
Explanation = Annotated[
    Annotated[str, Field(min_length=0, max_length=4000)] | SkipJsonSchema[None], _Given, NeverNull
]
Difficulty = Annotated[Literal["easy", "medium", "hard"] | SkipJsonSchema[None], _Given, NeverNull]
