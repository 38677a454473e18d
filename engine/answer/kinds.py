"""What a field of an output model wants, seen through Annotated, Optional and unions."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel


@cache
def kinds_of(annotation: Any) -> tuple[Any, ...]:
    """The alternatives of an annotation, without Annotated and None."""
    if hasattr(annotation, "__metadata__"):
        return kinds_of(annotation.__origin__)
    if get_origin(annotation) in (list, Literal) or isinstance(annotation, type):
        return (annotation,)
    return tuple(kind for branch in get_args(annotation) for kind in kinds_of(branch))


def is_model(kind: Any) -> bool:
    """Whether it is a part of an output with fields of its own."""
    return isinstance(kind, type) and issubclass(kind, BaseModel)
