"""What is repaired, what is not, and that nothing else changes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aijobs.engine.errors import AnswerFault
from tests.unit.engine.answer.reading import (
    CARDS,
    QUIZ,
    card,
    definition,
    fault_of,
    question,
    read,
)

TWO = '{"flashcards": [{"front": "a1", "back": "b1"}, {"front": "a2", "back": "b2"}]}'


@pytest.mark.parametrize(
    "text",
    [
        TWO.replace("}]}", "},],}"),
        TWO.replace('"', "'"),
        TWO.replace('"front"', "front").replace('"back"', "back"),
        TWO.replace('": ', '"： ').replace('", ', '"，'),
        TWO.replace('", ', '", // note\n'),
        TWO.replace("[", "[ /* cards */ "),
        TWO.replace('"', '\\"'),
        json.dumps(json.dumps(json.loads(TWO), indent=2))[1:-1],
        json.dumps(json.dumps(json.loads(TWO)["flashcards"], indent="\t"))[1:-1],
        TWO.replace(", ", ",\u00a0"),
        json.dumps(TWO),
        TWO.replace("}]}", '}], "status": "succeeded"}'),
        f'{{"response": {{"data": {TWO}}}}}',
        TWO[len('{"flashcards": ') : -1],
        json.dumps({"flashcards": json.dumps(json.loads(TWO)["flashcards"])}),
    ],
)
def test_these_say_the_same(text: str) -> None:
    answer = read(CARDS, text)
    assert (answer.outcome, answer.value) == ("repair", json.loads(TWO))
    assert answer.repairs


@pytest.mark.parametrize(
    "text",
    [
        TWO.replace("}, {", "} {"),
        TWO.replace('"a1", ', '"a1" '),
        TWO.replace('"a1"', '"a1'),
        TWO.replace('"a1"', '"a1" "x"'),
        TWO.replace('"a1"', '"a1" + "x"'),
        TWO.replace('"a1"', "`a1`"),
        TWO.replace('"a1"', "a1"),
        TWO.replace('"a1"', "undefined"),
        TWO.replace("}]", "}, ...]"),
        TWO.replace("}]", "}, …]"),
        TWO.replace("}]", '}, "..."]'),
        TWO.replace("}]", "} // 3 more cards\n]"),
        TWO.replace("}]", "} /* 其余省略 */]"),
        TWO.replace("[", "(").replace("]", ")"),
        TWO.replace("}]", "]}"),
        TWO.replace('"b1"', '"b1", "back": "b3"'),
        TWO.replace("'", '"').replace('"b1"', "'b1', 'back': 'b3'"),
        TWO.replace("}]", "}, null]"),
        TWO.replace('"back"', '"Back"'),
        TWO.replace('"flashcards"', '"cards", "x"'),
        f'{{"error": {TWO}}}',
        f'{{"thinking": {TWO}}}',
        f'{{"tool_call": {TWO}}}',
        f'{{"ok": true, "data": {TWO}}}',
        '{"flashcards": {"front": "a", "back": "b"}}',
        '{"flashcards": "a: b"}',
        "null",
        "{}",
    ],
)
def test_these_are_never_guessed(text: str) -> None:
    fault = fault_of(CARDS, text)
    assert isinstance(fault, AnswerFault)
    assert fault.repairable
    assert fault.problems


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"the \"x\" word", 'the "x" word'),
        (r"It\'s", "It's"),
        (r"100\% of \alpha", r"100\% of \alpha"),
        (r"\underbrace{a}", r"\underbrace{a}"),
        ('the "x" word', 'the "x" word'),
        ('"x" y', '"x" y'),
        ('the "x"', 'the "x"'),
        ('他说"你好"。', '他说"你好"。'),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        (r"a\u0007b\u007f", "ab"),
        (r"\ud83d\udc4d", "👍"),
        ("“quoted”，：", "“quoted”，："),
        (r"C\\D", r"C\D"),
        ("https://a.example//b # c", "https://a.example//b # c"),
    ],
)
def test_text_comes_through(source: str, text: str) -> None:
    assert read(CARDS, card(source)).value["flashcards"][0]["back"] == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"$\frac{1}{2}$", r"$\frac{1}{2}$"),
        (r"a\u0007b", "ab"),
        (r"two\nlines", "two\nlines"),
    ],
)
def test_text_comes_through_a_second_encoding(source: str, text: str) -> None:
    inner = card(source)
    items = inner[len('{"flashcards": ') : -1]
    for shape in (json.dumps(inner), json.dumps({"flashcards": items})):
        assert read(CARDS, shape).value["flashcards"][0]["back"] == text


@pytest.mark.parametrize("source", [r"a\u0000b", r"a\ud83d", r"\begin{pmatrix}a\\ b\end{pmatrix}"])
def test_what_is_refused_in_a_document_is_refused_in_a_second_encoding(source: str) -> None:
    inner = card(source)
    assert isinstance(fault_of(CARDS, json.dumps(inner)), AnswerFault)
    items = inner[len('{"flashcards": ') : -1]
    assert isinstance(fault_of(CARDS, json.dumps({"flashcards": items})), AnswerFault)


@pytest.mark.parametrize(
    "source",
    [
        'say "yes", "no"',
        'a 5" pipe',
        'a" + "b',
        'a", "back": "c',
        r"a\u0000b",
        "a\x00b",
        r"a\ud83d",
        r"\udc4d\ud83d",
        "a\ud83d",
        "",
        "   ",
        r"\u0001",
        "...",
        "x" * 4001,
    ],
)
def test_text_that_nobody_can_store_or_be_sure_of_is_refused(source: str) -> None:
    assert fault_of(CARDS, card(source)).code.endswith(("INVALID_JSON", "VALIDATION_FAILED"))


@pytest.mark.parametrize(
    ("options", "answer", "index"),
    [
        (["ox", "cx", "nx"], "B", 1),
        (["ox", "cx", "nx"], " c ", 2),
        (["ox", "cx", "nx"], "CX", 1),
        (["o  x", "cx"], "O x", 0),
        (["ox", "cx"], "1", 1),
        (["ox", "cx"], 1.0, 1),
        (["10", "15", "20"], "15", 1),
        (["A", "B", "C"], "B", 1),
        (["A. x", "B. y"], "B. y", 1),
    ],
)
def test_an_answer_with_one_reading_is_mapped(options: list[str], answer: Any, index: int) -> None:
    read_ = read(QUIZ, question(options, answer))
    assert read_.outcome == "repair"
    assert read_.value["questions"][0]["answer_index"] == index


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        (["ox", "cx"], "C"),
        (["ox", "cx"], "A, B"),
        (["ox", "cx"], "carbon"),
        (["ox", "cx"], "ＣＸ"),
        (["ox", "cx"], ""),
        (["ox", "cx"], "2"),
        (["ox", "cx"], 2),
        (["ox", "cx"], -1),
        (["ox", "cx"], "-1"),
        (["ox", "cx"], 0.5),
        (["ox", "cx"], True),
        (["ox", "cx"], None),
        (["ox", "cx"], [1]),
        (["C", "A", "B"], "B"),
        (["1", "2", "3"], "2"),
        (["none", "None"], "NONE"),
        (["x", "y", "X"], "x"),
    ],
)
def test_an_answer_with_two_readings_or_none_is_refused(options: list[str], answer: Any) -> None:
    assert fault_of(QUIZ, question(options, answer)).code.endswith("VALIDATION_FAILED")


@pytest.mark.parametrize("key", [", says he", "", "。", "？ ", '\\" or \\"', "x" * 61])
def test_a_key_that_nobody_would_choose_is_not_dropped(key: str) -> None:
    """It may be the rest of a text: `"back": "a", says he": "b"` with a quote forgotten twice."""
    fault = fault_of(CARDS, TWO.replace('"b1"', f'"b1", "{key}": "b3"'))
    assert isinstance(fault, AnswerFault) and fault.code == "SCHEMA_VALIDATION_FAILED"
    said = "flashcards[0].<a key that is no name>: Extra inputs are not permitted"
    assert fault.problems == (said,)  # it is logged, and a piece of a text is none of a log's


@pytest.mark.parametrize("key", ["id", "user_id", "$schema", "@type", "难度", "hint 2", "x-y.z"])
def test_a_key_of_somebody_else_is_left_out(key: str) -> None:
    text = TWO.replace('"b1"', f'"b1", "{key}": "b3"')
    assert read(CARDS, text).value == json.loads(TWO)


def test_a_second_answer_under_another_key_is_not_dropped() -> None:
    text = question(["ox", "cx"], 0).replace(
        '"answer_index"', '"correct_answer": "B", "answer_index"'
    )
    assert fault_of(QUIZ, text).code == "SCHEMA_VALIDATION_FAILED"


@pytest.mark.parametrize(
    ("minutes", "read_as"), [('"25"', 25), ("25.0", 25), ("25", 25), ('" 7 "', 7), ("2.5e1", 25)]
)
def test_a_whole_number_is_read_without_loss(minutes: str, read_as: int) -> None:
    value = read(definition("next_action_planning"), action(minutes)).value
    assert value["actions"][0]["minutes"] == read_as
    assert type(value["actions"][0]["minutes"]) is int


@pytest.mark.parametrize(
    "minutes",
    [
        '"25 min"',
        "25.5",
        '"25.0"',
        '"1e2"',
        '"025"',
        "5 * 12",
        "0x10",
        "1_000",
        "+5",
        "05",
        "true",
        "null",
        "0",
        "601",
        "NaN",
        "Infinity",
        "-Infinity",
        "1e999",
        "9" * 5000,
        str(2**63),
        '"٢٥"',
    ],
)
def test_other_numbers_are_refused(minutes: str) -> None:
    job = definition("next_action_planning")
    assert fault_of(job, action(minutes)).code.endswith(("INVALID_JSON", "VALIDATION_FAILED"))
    assert fault_of(job, action(minutes).replace("}]}", "},]}"))


def action(minutes: str) -> str:
    return (
        f'{{"actions": [{{"title": "t", "priority": "low", "minutes": {minutes}, "reason": "r"}}]}}'
    )


@pytest.mark.parametrize(
    ("given", "kept"), [('"HARD"', "hard"), ('" Easy "', "easy"), ("null", None)]
)
def test_an_enum_in_capitals_or_null_is_read(given: str, kept: str | None) -> None:
    text = question(["a", "b"], 0).replace(
        '"answer_index"', f'"difficulty": {given}, "answer_index"'
    )
    value = read(QUIZ, text).value["questions"][0]
    assert value.get("difficulty") == kept
    assert ("difficulty" in value) is (kept is not None)


@pytest.mark.parametrize("given", ['"moderate"', '"困难"', '""', "2", "true"])
def test_an_enum_of_another_vocabulary_is_refused(given: str) -> None:
    text = question(["a", "b"], 0).replace(
        '"answer_index"', f'"difficulty": {given}, "answer_index"'
    )
    assert fault_of(QUIZ, text).code == "SCHEMA_VALIDATION_FAILED"


@pytest.mark.parametrize(
    ("options", "different"),
    [
        (["none", "None", "NULL"], True),
        (["x²", "x2"], True),
        (["Ａ", "A"], True),
        (["a", "a "], False),
        (["a b", "a  b"], False),
        (["a\u00a0b", "a b"], False),
        (["a", "\t"], False),
    ],
)
def test_options_differ_after_trimming_and_folding_spaces(
    options: list[str], different: bool
) -> None:
    text = question(options, 0)
    if different:
        assert read(QUIZ, text).value["questions"][0]["options"] == options
    else:
        assert fault_of(QUIZ, text).code == "BUSINESS_VALIDATION_FAILED"


def test_more_than_asked_is_cut_and_fewer_is_accepted() -> None:
    assert read(CARDS, TWO, count=1).value == {"flashcards": [{"front": "a1", "back": "b1"}]}
    assert read(CARDS, TWO, count=1).delivered_count == 1
    few = read(CARDS, TWO, count=10)
    assert (few.outcome, few.delivered_count) == ("accept", 2)


def test_refs_must_be_the_snapshots() -> None:
    text = TWO.replace('"a1"', '"a1", "ref": "k2"')
    assert read(CARDS, text, refs=frozenset({"k1", "k2"})).outcome == "accept"
    with pytest.raises(AnswerFault, match="k2") as caught:
        read(CARDS, text, refs=frozenset({"k1"}))
    assert caught.value.code == "REFERENCE_VALIDATION_FAILED"
    assert read(CARDS, TWO.replace('"a1"', '"a1", "ref": null')).outcome == "accept"


#: One text of each kind of output that must say something, blanked.
BLANKED = [
    ("quiz_generation", question(["a", "b"], 0), "q"),
    ("quiz_generation", question(["a", "b"], 0), "b"),
    ("flashcard_generation", card("b", front="f"), "f"),
    ("flashcard_generation", card("b", front="f"), "b"),
    ("learning_state_analysis", '{"summary": "s", "mastery": [{"topic": "t", "score": 1}]}', "s"),
    ("learning_state_analysis", '{"summary": "s", "mastery": [{"topic": "t", "score": 1}]}', "t"),
    (
        "weak_point_analysis",
        '{"weak_points": [{"topic": "t", "severity": "low", "evidence": "e"}]}',
        "e",
    ),
    (
        "next_action_planning",
        '{"actions": [{"title": "t", "priority": "low", "minutes": 5, "reason": "r"}]}',
        "t",
    ),
    ("active_recall", '{"score": 1, "missing": [], "feedback": "f"}', "f"),
    ("active_recall", '{"score": 1, "missing": ["m"], "feedback": "f"}', "m"),
    ("feynman_evaluation", '{"score": 1, "clarity": 1, "gaps": ["g"], "feedback": "f"}', "g"),
]


@pytest.mark.parametrize("blank", [" ", "\\t", "\\u3000", "\\u200b", "\\ufeff \\u2060", "\\u3164"])
@pytest.mark.parametrize(("job_type", "text", "said"), BLANKED)
def test_a_text_that_nobody_can_see_is_refused(
    job_type: str, text: str, said: str, blank: str
) -> None:
    job = definition(job_type)
    assert read(job, text).outcome == "accept"
    fault = fault_of(job, text.replace(f'"{said}"', f'"{blank}"'))
    assert isinstance(fault, AnswerFault) and fault.repairable
    assert fault.code == "BUSINESS_VALIDATION_FAILED"
    assert any(problem.endswith("is blank") for problem in fault.problems)


@pytest.mark.parametrize(
    "cards",
    [
        [{"front": "string", "back": "string"}],
        [{"front": "Real", "back": "card"}, {"front": "<front>", "back": "<back>"}],
        [{"front": "What is osmosis?", "back": "…"}],
    ],
)
def test_placeholders_are_refused(cards: list[dict[str, str]]) -> None:
    assert fault_of(CARDS, json.dumps({"flashcards": cards})).code == "BUSINESS_VALIDATION_FAILED"


@pytest.mark.parametrize(
    ("front", "back"),
    [
        ("Which type is 'a' in Python?", "string"),
        ("<b>", "bold text"),
        ("[1, 2][0]", "1"),
        ("√4", "2"),
    ],
)
def test_a_card_about_such_words_is_none(front: str, back: str) -> None:
    cards = {"flashcards": [{"front": front, "back": back}]}
    assert read(CARDS, json.dumps(cards)).value == cards


def test_problems_say_what_a_field_may_be() -> None:
    asked = json.loads(question(["a", "b"], 0))["questions"][0]
    value = {"questions": [{**asked, "difficulty": "moderate", "explanation": 3}]}
    fault = fault_of(QUIZ, json.dumps(value))
    assert isinstance(fault, AnswerFault)
    assert fault.problems == (
        "questions[0].explanation: Input should be a valid string",
        "questions[0].difficulty: Input should be 'easy', 'medium' or 'hard'",
    )


def test_problems_name_the_place() -> None:
    fault = fault_of(CARDS, TWO.replace('"b2"', "7"))
    assert isinstance(fault, AnswerFault)
    assert fault.problems == ("flashcards[1].back: Input should be a valid string",)
