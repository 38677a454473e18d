"""Shapes of model answers, each with its right outcome: a hundred collected ones, and our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from aijobs.engine.answer import AnswerParams, read_answer
from aijobs.engine.errors import JobFault
from aijobs.engine.gateway.message import said
from tests.unit.engine.answer.reading import definition, is_retryable, reply

_FILES = ("llm_outputs.jsonl", "own_llm_outputs.jsonl")
CASES: list[dict[str, Any]] = [
    json.loads(line)
    for name in _FILES
    for line in (Path(__file__).parents[3] / "cases" / name).read_text("utf-8").splitlines()
]


def outcome_of(case: dict[str, Any]) -> tuple[str, Any]:
    """("accept" | "repair" | "reject:retryable" | "reject:permanent", value)."""
    what = said({"content": case["raw"], **(case["envelope"] or {})})
    context = case["context"] or {}
    params = AnswerParams(context.get("requested_count"), frozenset(context.get("refs", ())))
    given = {"refusal": what.refusal, "tool_calls": what.has_tool_calls}
    try:
        answer = read_answer(
            definition(case["job_type"]), reply(what.text, case["finish_reason"], **given), params
        )
    except JobFault as fault:
        return ("reject:retryable" if is_retryable(fault) else "reject:permanent"), None
    return answer.outcome, answer.value


def permitted(case: dict[str, Any]) -> list[tuple[str, Any]]:
    expected = case["expect"]
    if expected == "reject":
        expected = f"reject:{case['reject_class']}"
    outcomes = [(expected, case["value"])]
    for tolerated in case["also_ok"]:
        kind, _, detail = tolerated.partition(":")
        if kind == "repair":
            outcomes.append(("repair", json.loads(detail)))
        elif kind == "accept":
            outcomes.append(("accept", json.loads(case["raw"])))
        else:
            outcomes.append((tolerated, None))
    return outcomes


def test_all_cases_are_there() -> None:
    assert len(CASES) >= 200
    assert len({case["id"] for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['id']}-{case['kind']}")
def test_outcome_and_value_are_permitted(case: dict[str, Any]) -> None:
    assert outcome_of(case) in permitted(case)


def test_most_come_out_as_the_first_choice() -> None:
    """Four are decided by the job types' rules: quotes that prove themselves, U+0000 refused,
    fewer items accepted, topics not checked."""
    others = {case["id"] for case in CASES if outcome_of(case) != permitted(case)[0]}
    assert others == {"A19", "A69", "A91", "A109"}
