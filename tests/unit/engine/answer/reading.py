"""Replies for the tests of reading an answer."""

from __future__ import annotations

import importlib
import json
from typing import Any

from aijobs.engine.answer import AnswerParams, ReadAnswer, read_answer
from aijobs.engine.chat import Reply
from aijobs.engine.definition import JobDefinition
from aijobs.engine.errors import AnswerFault, JobFault


def definition(job_type: str) -> JobDefinition:
    module = importlib.import_module(f"aijobs.engine.job_types.{job_type}")
    found: JobDefinition = module.DEFINITION
    return found


QUIZ = definition("quiz_generation")
CARDS = definition("flashcard_generation")


def reply(text: str | None, finish_reason: str | None = "stop", **fields: Any) -> Reply:
    return Reply(
        text=text,
        finish_reason=finish_reason,
        refusal=fields.get("refusal"),
        has_tool_calls=bool(fields.get("tool_calls")),
        reasoning="reasoning_content" in fields,
        response_model=None,
        usage=None,
        http_status=200,
    )


def read(
    job: JobDefinition,
    text: str | None,
    finish_reason: str | None = "stop",
    *,
    count: int | None = None,
    refs: frozenset[str] = frozenset(),
) -> ReadAnswer:
    return read_answer(job, reply(text, finish_reason), AnswerParams(count, refs))


def fault_of(job: JobDefinition, text: str | None, finish_reason: str | None = "stop") -> JobFault:
    """The fault that reading raises."""
    try:
        answer = read(job, text, finish_reason)
    except JobFault as fault:
        return fault
    raise AssertionError(f"{answer.outcome}: {answer.value}")


def is_retryable(fault: JobFault) -> bool:
    """Does another call follow: a repair round, a larger limit, or the job's own retry?"""
    if isinstance(fault, AnswerFault):
        return fault.repairable or fault.code == "OUTPUT_TRUNCATED"
    return fault.error.retryable


def card(back: str, front: str = "f") -> str:
    """A document with one card, whose `back` is JSON source, not yet escaped."""
    return f'{{"flashcards": [{{"front": "{front}", "back": "{back}"}}]}}'


def question(options: list[str], answer: Any) -> str:
    asked = {"question": "q", "options": options, "answer_index": answer}
    return json.dumps({"questions": [asked]}, ensure_ascii=False)
