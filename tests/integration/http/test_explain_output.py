"""`aijobs explain-output` says of every collected answer what the engine does with it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from aijobs.engine.answer.read import STEPS
from aijobs.engine.explain import explain
from tests.unit.engine.answer.reading import CARDS, definition
from tests.unit.engine.answer.test_cases import CASES, permitted

CARD = '{"flashcards": [{"front": "Unit of force", "back": "newton"}]}'


def test_every_collected_answer_comes_out_as_permitted() -> None:
    for case in CASES:
        assert _outcome(case) in permitted(case), case["id"]


def test_the_command_prints_one_object() -> None:
    told = _run("--job-type", "flashcard_generation", "--finish-reason", "stop", raw=CARD)
    assert json.loads(told.stdout) == {
        "outcome": "accept",
        "value": json.loads(CARD),
        "steps": [step.__name__.replace("_", " ") for step in STEPS],
    }


def test_the_steps_tell_what_each_did_and_where_it_ended() -> None:
    raw = f"```json\n{CARD}\n```".replace("newton", r"$\frac{1}{2}$ \u0007")
    told = explain(CARDS, raw, finish_reason="stop")
    assert [step for step in told["steps"] if ": " in step] == [
        "parse text: text around the document left out",
        "restore tex: TeX commands restored",
        "clean text: control characters removed",
    ]
    told = explain(CARDS, CARD.replace("newton", " "), finish_reason="stop")
    assert told["steps"][-2:] == ["check schema", "check rules: flashcards[0]: back is blank"]
    told = explain(CARDS, "", finish_reason="length")
    assert told["steps"] == ["check finish: The answer was cut at the token limit."]


def test_an_envelope_replaces_standard_input(tmp_path: Path) -> None:
    envelope = tmp_path / "message.json"
    envelope.write_text(json.dumps({"content": None, "reasoning_content": "hm"}))
    words = ("--job-type", "flashcard_generation", "--finish-reason", "length")
    told = json.loads(_run(*words, "--envelope", str(envelope), raw="").stdout)
    assert (told["outcome"], told["code"], told["retryable"]) == (
        "reject",
        "OUTPUT_TRUNCATED",
        True,
    )


def test_an_envelope_whose_content_is_no_text_is_the_providers_fault() -> None:
    for content in (7, {"text": CARD}, [[CARD]]):
        envelope = json.dumps({"content": content})
        told = explain(CARDS, "", finish_reason="stop", envelope=envelope)
        assert (told["outcome"], told["code"]) == ("reject", "PROVIDER_UNAVAILABLE")
        assert told["retryable"] is True
        assert told["steps"] == ["read the message: the content is no text"]


def test_bytes_that_are_no_utf_8_are_an_answer_to_reject() -> None:
    command = _command("--job-type", "flashcard_generation", "--finish-reason", "stop")
    for spoiled in (b"newton\xff", "newton\ud83d".encode(errors="surrogatepass")):
        raw = CARD.encode().replace(b"newton", spoiled)
        told = subprocess.run(command, input=raw, capture_output=True, check=True)
        assert json.loads(told.stdout)["code"] == "OUTPUT_INVALID_JSON"


def test_refs_and_count_are_judged_against() -> None:
    two = '{"flashcards": [{"front": "a", "back": "b", "ref": "k9"}, {"front": "c", "back": "d"}]}'
    told = explain(CARDS, two, finish_reason="stop", params='{"refs": ["k1"]}')
    assert told["code"] == "REFERENCE_VALIDATION_FAILED"
    told = explain(
        CARDS, two, finish_reason="stop", params='{"requested_count": 1, "refs": ["k9"]}'
    )
    assert told["outcome"] == "repair"
    assert [card["front"] for card in told["value"]["flashcards"]] == ["a"]
    params = '{"requested_count": null, "refs": null}'
    assert explain(CARDS, CARD, finish_reason="stop", params=params)["outcome"] == "accept"


def test_a_wrong_question_is_one_line() -> None:
    known = ("--job-type", "flashcard_generation", "--finish-reason", "stop")
    for words in (
        ("--job-type", "poem", "--finish-reason", "stop"),
        (*known, "--params", "{"),
        (*known, "--params", '{"requested_count": "two"}'),
    ):
        told = _run(*words, raw=CARD)
        assert told.returncode == 2
        assert len(told.stderr.strip().splitlines()) == 1
        assert told.stdout == ""


def _outcome(case: dict[str, Any]) -> tuple[str, Any]:
    context = case["context"] or {}
    params = {name: context.get(name) for name in ("requested_count", "refs")}
    told = explain(
        definition(case["job_type"]),
        case["raw"] or "",
        finish_reason=case["finish_reason"],
        params=json.dumps(params),
        envelope=None if case["envelope"] is None else json.dumps(case["envelope"]),
    )
    if told["outcome"] == "reject":
        return f"reject:{'retryable' if told['retryable'] else 'permanent'}", None
    return told["outcome"], told["value"]


def _run(*words: str, raw: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(_command(*words), input=raw, capture_output=True, text=True, check=False)


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "aijobs.http.cli", "explain-output", *words]
