"""Right answers, mutilated: what is read is what was meant, or it is a fault."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aijobs.engine.errors import JobFault
from tests.unit.engine.answer.reading import CARDS, read

#: Characters that JSON, repairs and TeX stumble over, among ordinary ones.
_TEXT = st.text(alphabet="ab1 \"'\\{}[]:,$“”，：„<>/#.\n\t卡é", min_size=1, max_size=12).filter(
    lambda text: any(map(str.isalnum, text)) and ".." not in text and text.strip()[0] not in "<{["
)
_CARDS = st.lists(
    st.fixed_dictionaries({"front": _TEXT, "back": _TEXT}, optional={"tags": st.none()}),
    min_size=1,
    max_size=3,
)
_VALUE = _CARDS.map(lambda cards: {"flashcards": cards})


def outcome(text: str, finish_reason: str | None = "stop") -> Any:
    """What is read, or None for a fault. Any other exception is a defect."""
    try:
        return read(CARDS, text, finish_reason).value
    except JobFault:
        return None


@given(_VALUE, st.booleans(), st.sampled_from([None, 0, 2]))
def test_right_json_is_accepted_as_it_is(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    for finish_reason in ("stop", None):
        answer = read(CARDS, text, finish_reason)
        assert (answer.outcome, answer.value) == ("accept", value)


@settings(max_examples=200)
@given(_VALUE, st.data())
def test_a_cut_document_is_never_taken(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=False)
    cut = data.draw(st.integers(0, len(text) - 1))
    for shape in (
        text[:cut],
        f"```json\n{text[:cut]}",
        f"```json\n{text[:cut]}\n```",
        f"{text[:cut]}\n\nDone.",
    ):
        for finish_reason in ("stop", "length", None):
            assert outcome(shape, finish_reason) is None


@settings(max_examples=200)
@given(_VALUE, st.data())
def test_a_document_without_its_beginning_is_never_taken(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=False)
    start = data.draw(st.integers(1, len(text) - 1))
    assert outcome(text[start:]) is None


@given(_VALUE, _VALUE)
def test_of_two_documents_none_is_chosen(first: Any, second: Any) -> None:
    texts = [json.dumps(value, ensure_ascii=False) for value in (first, second)]
    expected = first if first == second else None
    for between in ("", "\n", "\nor:\n", "\n```\n```json\n", ","):
        assert outcome(between.join(texts)) in (expected, None)


@pytest.mark.parametrize(
    "shape",
    [
        "```json\n{}\n```",
        "Here it is:\n{}\nThat is all.",
        "<think>First I plan.</think>\n{}",
        "\ufeff{}",
        "json\n{}",
        "<output>{}</output>",
    ],
)
@given(value=_VALUE)
def test_wrapped_it_is_the_same(shape: str, value: Any) -> None:
    assert outcome(shape.replace("{}", json.dumps(value, ensure_ascii=False))) == value


@given(_VALUE)
@example({"flashcards": [{"front": "a': 'b", "back": 'c", "d'}]})
def test_written_otherwise_it_is_the_same_or_a_fault(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    for shape in (
        repr(value),
        json.dumps(text),
        text.replace("}", ",}").replace("]", ",]"),
        text.replace('\\"', '"'),
        text.replace("\\\\", "\\"),
        text.replace("\\n", "\n"),
    ):
        assert_is_meant(shape, value)


def assert_is_meant(shape: str, value: Any) -> None:
    """Where a replacement changed the texts as well, no more than that may be different."""
    answer = outcome(shape)
    if answer is not None:
        assert [len(answer["flashcards"])] == [len(value["flashcards"])]
        assert [card.keys() for card in answer["flashcards"]] == [
            card.keys() for card in value["flashcards"]
        ]


@given(_VALUE)
def test_a_python_repr_is_read_exactly_or_not_at_all(value: Any) -> None:
    assert outcome(repr(value)) in (value, None)


@settings(max_examples=300)
@given(_VALUE, st.data())
def test_one_wrong_character_never_drops_a_card(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=False)
    at = data.draw(st.integers(0, len(text) - 1))
    wrong = data.draw(
        st.sampled_from(["", '"', "'", ",", "}", "]", "{", "[", ":", "\\", "x", "\n"])
    )
    answer = outcome(text[:at] + wrong + text[at + 1 :])
    if answer is not None:
        assert sum(map(len, answer["flashcards"])) <= sum(map(len, value["flashcards"])) + 1
        assert len(answer["flashcards"]) == len(value["flashcards"])


@settings(max_examples=300)
@given(st.text(alphabet="{}[]\"':,\\/*#<>think`null1.e-$\n “”：，", max_size=60))
def test_nothing_but_a_fault_comes_of_noise(text: str) -> None:
    for finish_reason in ("stop", "length", None):
        outcome(text, finish_reason)
