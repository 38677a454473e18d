"""The output of a runtime is validated like an engine's, and nothing in it is repaired."""

from __future__ import annotations

from typing import Any

import pytest

from aijobs.engine.answer import AnswerParams, validate_output
from aijobs.engine.errors import AnswerFault
from tests.unit.engine.answer.reading import QUIZ

GOOD: dict[str, Any] = {"question": "q", "options": ["a", "b"], "answer_index": 1, "ref": "k1"}
PARAMS = AnswerParams(5, frozenset({"k1"}))


def test_a_right_output_comes_back_as_it_is() -> None:
    assert validate_output(QUIZ, {"questions": [GOOD]}, PARAMS) == {"questions": [GOOD]}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"answer_index": "b"}, "SCHEMA_VALIDATION_FAILED"),
        ({"answer_index": True}, "SCHEMA_VALIDATION_FAILED"),
        ({"difficulty": None}, "SCHEMA_VALIDATION_FAILED"),
        ({"id": 7}, "SCHEMA_VALIDATION_FAILED"),
        ({"answer_index": 2}, "BUSINESS_VALIDATION_FAILED"),
        ({"options": ["a", " a"]}, "BUSINESS_VALIDATION_FAILED"),
        ({"question": "..."}, "BUSINESS_VALIDATION_FAILED"),
        ({"ref": "k2"}, "REFERENCE_VALIDATION_FAILED"),
        ({"question": "a\x00"}, "OUTPUT_INVALID_JSON"),
        ({"question": "a\ud83d"}, "OUTPUT_INVALID_JSON"),
    ],
)
def test_a_wrong_output_is_refused(change: dict[str, Any], code: str) -> None:
    with pytest.raises(AnswerFault) as caught:
        validate_output(QUIZ, {"questions": [{**GOOD, **change}]}, PARAMS)
    assert caught.value.code == code


@pytest.mark.parametrize("output", [None, [], "x", 7, {}])
def test_an_output_that_is_no_document_is_refused(output: Any) -> None:
    with pytest.raises(AnswerFault):
        validate_output(QUIZ, output, PARAMS)
