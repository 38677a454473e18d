"""The finish_reason decides before the text does."""

from __future__ import annotations

import pytest

from aijobs.engine.answer import AnswerParams, read_answer
from aijobs.engine.errors import AnswerFault, ProviderFault
from tests.unit.engine.answer.reading import CARDS, card, fault_of, read, reply

WHOLE = card("b")


@pytest.mark.parametrize("finish_reason", [None, ""])
def test_without_a_reason_plain_json_counts(finish_reason: str | None) -> None:
    assert read(CARDS, f"\n {WHOLE}\n", finish_reason).outcome == "accept"


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{WHOLE}\n```",
        WHOLE[:-1] + ",}",
        card(r"$\frac{1}{2}$"),
        WHOLE[:-1] + ', "user_id": 1}',
        f'{{"data": {WHOLE}}}',
    ],
)
def test_without_a_reason_nothing_is_repaired(text: str) -> None:
    assert read(CARDS, text).outcome == "repair"
    assert fault_of(CARDS, text, None).code == "OUTPUT_INVALID_JSON"


def test_without_a_reason_surplus_items_may_go() -> None:
    text = '{"flashcards": [{"front": "a", "back": "b"}, {"front": "c", "back": "d"}]}'
    assert read(CARDS, text, None, count=1).delivered_count == 1


@pytest.mark.parametrize("blanks", ["\n", " " * 4000, "\r\n\t"])
def test_length_after_a_whole_document_and_blanks_goes_on(blanks: str) -> None:
    assert read(CARDS, WHOLE + blanks, "length").outcome == "accept"


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "   ",
        WHOLE,
        WHOLE[:-1],
        WHOLE[:-1] + "\n\n",
        WHOLE + "\n" + WHOLE[:20],
        f"```json\n{WHOLE}\n```\n",
        "42\n",
    ],
)
def test_length_otherwise_is_truncation(text: str | None) -> None:
    assert fault_of(CARDS, text, "length").code == "OUTPUT_TRUNCATED"


@pytest.mark.parametrize("text", [None, "", " " * 64, "\n\t\r\n"])
def test_a_blank_answer_is_empty(text: str | None) -> None:
    assert fault_of(CARDS, text).code == "OUTPUT_EMPTY"


@pytest.mark.parametrize("reason", ["tool_calls", "function_call", "STOP", "end_turn", "error"])
def test_another_reason_never_counts_as_stop(reason: str) -> None:
    fault = fault_of(CARDS, WHOLE, reason)
    assert isinstance(fault, AnswerFault)
    assert (fault.code, fault.repairable) == ("OUTPUT_INVALID_JSON", True)


@pytest.mark.parametrize("reason", ["insufficient_system_resource", "aborted"])
def test_an_interrupted_run_is_the_providers_fault(reason: str) -> None:
    fault = fault_of(CARDS, WHOLE, reason)
    assert isinstance(fault, ProviderFault)
    assert fault.code == "PROVIDER_UNAVAILABLE"


def test_a_filter_and_a_refusal_are_final() -> None:
    for answer in (reply(WHOLE, "content_filter"), reply(None, refusal="I cannot do that.")):
        with pytest.raises(AnswerFault) as caught:
            read_answer(CARDS, answer, AnswerParams())
        assert (caught.value.code, caught.value.repairable) == ("CONTENT_SAFETY_BLOCKED", False)
