"""Validation errors as sentences: pydantic's words or ours, and the facts for other languages."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from aijobs.engine.refusal import FieldFault, Unfit
from aijobs.engine.sentence import Sentence
from aijobs.engine.validation import NOT_BLANK, invalid


def _never(given: str) -> str:
    raise Unfit(Sentence("must be {other}", other="another"))


class _Body(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    a: Annotated[str, Field(min_length=2)] = "xx"
    b: Annotated[float, Field(le=1)] = 1
    c: Literal["x", "y", "z"] = "x"
    d: Annotated[str, Field(pattern=NOT_BLANK)] = "x"
    e: Annotated[str, Field(pattern="^[a-z]+$")] = "x"
    f: Annotated[str, AfterValidator(_never)] = "x"


def _fault(body: Any) -> FieldFault:
    with pytest.raises(ValidationError) as caught:
        _Body.model_validate(body)
    refused = invalid(caught.value)
    assert (refused.code, refused.detail) == ("INVALID_REQUEST", "Some fields are not valid.")
    [fault] = refused.errors
    return fault


@pytest.mark.parametrize(
    ("body", "field", "message", "facts"),
    [
        ({"a": "x"}, "a", "String should have at least 2 characters", {"min_length": 2}),
        ({"b": 1.5}, "b", "Input should be less than or equal to 1", {"le": 1}),
        ({"b": "1"}, "b", "Input should be a valid number", {}),
        ({"c": "w"}, "c", "Input should be 'x', 'y' or 'z'", {"expected": ("'x'", "'y'", "'z'")}),
        ({"d": " "}, "d", "must not be blank", {}),
        ({"e": "9"}, "e", "does not have the form that is asked for", {}),
        ({"f": "x"}, "f", "must be another", {"other": "another"}),
        ({"g": "x"}, "g", "Extra inputs are not permitted", {}),
        ({"": "x"}, "body", "Extra inputs are not permitted", {}),
    ],
)
def test_a_field_at_fault_is_told_in_english_with_the_facts_apart(
    body: Any, field: str, message: str, facts: dict[str, Any]
) -> None:
    fault = _fault(body)
    assert (fault.field, fault.message, fault.message.facts) == (field, message, facts)
    assert [type(fact) for fact in fault.message.facts.values()] == list(map(type, facts.values()))
