"""What the engine would make of a model's answer, and why: the production path, without a job."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from aijobs.engine.answer import AnswerParams, Reading, take_steps
from aijobs.engine.chat import Reply
from aijobs.engine.definition import JobDefinition
from aijobs.engine.errors import AnswerFault, JobFault, ProviderFault
from aijobs.engine.gateway.message import StrangeContent, said


class Unexplainable(Exception):
    """The question itself is wrong: the sentence names what, and what to do."""


class _Params(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    requested_count: int | None = Field(default=None, ge=1)
    refs: list[str] | None = None


def explain(
    definition: JobDefinition,
    raw: str,
    *,
    finish_reason: str | None,
    params: str | None = None,
    envelope: str | None = None,
) -> dict[str, Any]:
    """`{outcome: accept | repair | reject, value?, code?, retryable?, steps}` of an answer.

    `steps` are those that were taken, in order, with what each repaired; the last one of a rejected
    answer with what it found. No step is taken when the message itself is strange.

    `params` is JSON with `requested_count` and `refs`; `envelope` is JSON, the provider's message
    object, whose content, when it has one, replaces `raw`. Raises Unexplainable.
    """
    message, judged_by = _message(raw, envelope), _params(params)
    reading: Reading | None = None
    try:
        reading = Reading(definition, _reply(message, finish_reason), judged_by)
        answer = take_steps(reading)
    except JobFault as fault:
        found = fault.problems if isinstance(fault, AnswerFault) else (fault.detail,)
        return {
            "outcome": "reject",
            "code": fault.code,
            "retryable": another_call_follows(fault),
            "steps": _steps(reading, found),
        }
    return {"outcome": answer.outcome, "value": answer.value, "steps": _steps(reading)}


def _steps(reading: Reading | None, found: tuple[str, ...] = ()) -> list[str]:
    """One line a step; `found` belongs to the last one."""
    taken = {} if reading is None else dict(reading.taken)
    last = next(reversed(taken), "read the message")
    taken[last] = (*taken.get(last, ()), *found)
    return [
        f"{name.replace('_', ' ')}{': ' if said else ''}{'; '.join(said)}"
        for name, said in taken.items()
    ]


def another_call_follows(fault: JobFault) -> bool:
    """Whether a repair round, a larger limit or the job's own retry comes after this fault."""
    if isinstance(fault, AnswerFault):
        return fault.repairable or fault.code == "OUTPUT_TRUNCATED"
    return fault.error.retryable


def _params(text: str | None) -> AnswerParams:
    try:
        params = _Params.model_validate_json(text or "{}")
    except ValidationError as error:
        problem = error.errors()[0]
        field = ".".join(map(str, problem["loc"])) or "--params"
        raise Unexplainable(f"--params: {field}: {problem['msg']}") from None
    return AnswerParams(params.requested_count, frozenset(params.refs or ()))


def _reply(message: dict[str, Any], finish_reason: str | None) -> Reply:
    try:
        what = said(message)
    except StrangeContent:
        raise ProviderFault("PROVIDER_UNAVAILABLE", "the content is no text") from None
    return Reply(
        text=what.text,
        finish_reason=finish_reason,
        refusal=what.refusal or None,
        has_tool_calls=what.has_tool_calls,
        reasoning=what.reasoning,
        response_model=None,
        usage=None,
        http_status=200,
    )


def _message(raw: str, envelope: str | None) -> dict[str, Any]:
    try:
        message = json.loads(envelope or "{}")
    except ValueError as error:
        raise Unexplainable(f"--envelope: not JSON: {error}") from None
    if not isinstance(message, dict):
        raise Unexplainable("--envelope: must be the provider's message object")
    return {"content": raw, **message}
