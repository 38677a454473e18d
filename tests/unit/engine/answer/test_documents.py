"""One document is found in what a model writes around it; of two, or of a part, none is taken."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest

from aijobs.engine.errors import JobFault
from tests.unit.engine.answer.reading import CARDS, card, fault_of, read

WHOLE = card("b")
OTHER = card("c")
VALUE = json.loads(WHOLE)


@pytest.mark.parametrize(
    "text",
    [
        f"```JSON\r\n{WHOLE}\r\n```",
        f"~~~\n{WHOLE}\n~~~",
        f"JSON: {WHOLE}",
        f"const cards = {WHOLE};",
        f"See [1], {{}} and {{a, b}}: {WHOLE} Done.",
        f"{WHOLE}<|im_end|>",
        f"\ufeff{WHOLE}",
        f"<THINK>hm</THINK>{WHOLE}",
        f"<thinking>{OTHER}</thinking>\n```json\n{WHOLE}\n```",
        f"<think>a</think>\n<think>b</think>\n{WHOLE}",
        f'<think>{{"flashcards": [...</think>{WHOLE}',
        f'Hm, {{"flashcards": [{{"front": ... \n</think>\n{WHOLE}',
        f"{WHOLE}\n<think>was that right?</think>",
        f"[THINK]{OTHER}[/THINK]{WHOLE}",
        f'<think level="high">{OTHER}</think>{WHOLE}',
        f"<seed:think>{OTHER}</seed:think>{WHOLE}",
        f"<思考>{OTHER}</思考>{WHOLE}",
        f"◁think▷{OTHER}◁/think▷{WHOLE}",
        f"<|begin_of_thought|>{OTHER}<|end_of_thought|>{WHOLE}",
        f"<|channel|>analysis<|message|>{OTHER}<|end|><|start|>assistant"
        f"<|channel|>final<|message|>{WHOLE}<|return|>",
        f"\x0b\u3000{WHOLE}\u00a0",
        f"{WHOLE}\n\n{WHOLE}",
    ],
)
def test_one_document_is_found(text: str) -> None:
    answer = read(CARDS, text)
    assert (answer.outcome, answer.value) == ("repair", VALUE)


@pytest.mark.parametrize(
    "text",
    [
        f"{WHOLE}\n{OTHER}",
        f"```json\n{WHOLE}\n```\nOr better:\n```json\n{OTHER}\n```",
        f"{WHOLE}\n{OTHER[:-4]}",
        f"{OTHER[:-4]}\n{WHOLE}",
        f"[{WHOLE}, {OTHER}]",
        f"<think>{WHOLE} but first I need to check",
        f"{WHOLE}<think>or rather {OTHER}",
        f"<scratchpad>{WHOLE}</scratchpad>",
        f"<cot>{WHOLE} no, that is wrong",
        f"<seed:think>{WHOLE}</seed:think>",
        f"◁think▷{WHOLE}◁/think▷",
        f"<|begin_of_thought|>{WHOLE}<|end_of_thought|>",
        f"<|channel|>analysis<|message|>{WHOLE}<|end|>",
        f'<tool_call>{{"arguments": {WHOLE}}}</tool_call>',
        f"<function=save>{WHOLE}</function>",
        WHOLE[1:],
        WHOLE[:-1],
        f"```json\n{WHOLE[:-2]}\n```",
        f"{WHOLE[:-2]}\nDone.",
        f'{{"data": {WHOLE}',
        f"[{WHOLE}",
        "I could not do it.",
        "front,back\na,b",
    ],
)
def test_two_documents_or_a_part_are_refused(text: str) -> None:
    assert fault_of(CARDS, text).code in ("OUTPUT_INVALID_JSON", "SCHEMA_VALIDATION_FAILED")


def test_tags_inside_a_document_are_text() -> None:
    text = card("<think>x</think> y", front="What is </think>?")
    for shape in (text, f"```\n{text}\n```", f"<think>hm</think>{text}"):
        assert read(CARDS, shape).value == json.loads(text)


@pytest.mark.parametrize(
    "opening", ["[" * 20_000, '{"a":' * 20_000, '{"flashcards": ' + "[" * 20_000]
)
@pytest.mark.parametrize("closed", [True, False])
def test_twenty_thousand_levels_are_refused_quietly(opening: str, closed: bool) -> None:
    text = opening + ("]" * 20_000 if closed else "")
    assert fault_of(CARDS, text).code == "OUTPUT_INVALID_JSON"
    assert fault_of(CARDS, f"Here: {text}").code == "OUTPUT_INVALID_JSON"


@pytest.mark.timeout(20)
@pytest.mark.parametrize("opening", ["<", "<think a=", "["])
@pytest.mark.parametrize("piece", [" ", "<", "think ", "</think>", '{"a": '])
def test_the_time_grows_with_the_length_and_not_with_its_square(opening: str, piece: str) -> None:
    """A square of this length takes minutes; the time-out is what fails then."""
    filling = opening + piece * (200_000 // len(piece))
    for text in (filling, filling + WHOLE, WHOLE + filling):
        with suppress(JobFault):
            assert read(CARDS, text).value == VALUE
