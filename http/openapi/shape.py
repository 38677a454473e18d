"""What the shapes of answers are made of: camelCase names, ids, times, pages.

Invariant: a shape documents and never changes an answer; what the views write is held against it by
the tests. A field that is `Absent` is left out when there is nothing to say, and never null.
"""

from __future__ import annotations

from typing import Annotated, Any, Generic, TypeVar
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.json_schema import SkipJsonSchema

T = TypeVar("T")

Id = Annotated[UUID, Field(examples=["0199d3a2-7c41-7a50-8f0e-3b5a86c1d2e4"])]
Moment = Annotated[AwareDatetime, Field(examples=["2026-11-29T14:02:03.123456Z"])]
Absent = Annotated[T | SkipJsonSchema[None], Field()]


class Shape(BaseModel):
    """An object of an answer."""

    model_config = ConfigDict(alias_generator=to_camel)


class Page(Shape, Generic[T]):
    """One page of a list, newest first."""

    items: list[T]
    next_cursor: Annotated[
        str | None,
        Field(
            description="Send it as `cursor` to get the next page; null on the last one.",
            examples=[None],
        ),
    ]


def told(sentence: str, *examples: Any) -> Any:
    """What a field means, with an example."""
    return Field(description=sentence, examples=list(examples) or None)


def shown(*examples: Any) -> Any:
    """An example of a field whose name says what it means."""
    return Field(examples=list(examples))
