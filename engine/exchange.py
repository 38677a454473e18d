"""One question and its answer, through the journal: committed before the call and after it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

from uuid_utils.compat import uuid7

from aijobs.engine.attempt import Attempt
from aijobs.engine.chat import ChatRequest, Message, Reply, TokenUsage
from aijobs.engine.cut import CallCut
from aijobs.engine.definition import JobDefinition
from aijobs.engine.engine import Engine
from aijobs.engine.errors import JobFault, ProviderFault
from aijobs.models import database as db
from aijobs.models.errors import LeaseLost
from aijobs.models.journal import (
    CallOutcome,
    NewCall,
    answer_of,
    finish_call,
    finish_with_result,
    start_call,
)
from aijobs.models.probes import sending
from aijobs.models.results import Validated


@dataclass(frozen=True, slots=True)
class Exchange:
    """An answer. `call` is (call_no, outcome) of a call not yet completed in the journal; None when
    the answer was found there."""

    reply: Reply
    call: tuple[int, CallOutcome] | None


def ask(
    engine: Engine, attempt: Attempt, definition: JobDefinition, request: ChatRequest
) -> Exchange:
    """The journal's answer to this request, or a new call's.

    Raises ProviderFault or CallCut with the call completed in the journal, LeaseLost before any
    call.
    """
    if attempt.job.call_count > 0:  # an earlier attempt has asked something
        known = db.read(
            lambda: answer_of(attempt.job.id, request.request_hash), patient=attempt.may_insist
        )
        if known is not None:
            return Exchange(Reply.from_journal(known), None)
    if attempt.calls >= _call_limit(definition):
        raise JobFault("OUTPUT_INVALID_JSON", f"no usable answer in {attempt.calls} calls")
    attempt.cut.check()
    attempt.calls = start_call(
        attempt.lease,
        _new_call(engine, definition, request),
        lease_seconds=engine.settings.lease_seconds,
        patient=attempt.may_insist,
    )
    return _call(engine, attempt, request)


def close(attempt: Attempt, exchange: Exchange, fault: JobFault) -> None:
    """Complete the call of an answer that cannot be used: it is paid for and never asked again."""
    if exchange.call is not None:
        call_no, outcome = exchange.call
        told = replace(outcome, error_code=fault.code)
        finish_call(attempt.lease, call_no, told, patient=attempt.may_insist)


def keep(engine: Engine, attempt: Attempt, exchange: Exchange, validated: Validated) -> None:
    """Commit the validated answer with its call; a lost lease still completes the call's row."""
    try:
        finish_with_result(
            attempt.lease,
            exchange.call,
            validated,
            lease_seconds=engine.settings.lease_seconds,
            patient=attempt.may_insist,
        )
    except LeaseLost:
        if exchange.call is not None:
            finish_call(attempt.lease, *exchange.call, patient=attempt.may_insist)
        raise


def _call(engine: Engine, attempt: Attempt, request: ChatRequest) -> Exchange:
    call_no, began = attempt.calls, time.monotonic()
    try:
        with sending("provider_call"):
            reply = engine.provider.complete(engine.route, request, attempt.cut)
    except (CallCut, ProviderFault) as end:
        finish_call(attempt.lease, call_no, _ended(end, began), patient=attempt.may_insist)
        raise
    return Exchange(reply, (call_no, _completed(reply, began)))


def _new_call(engine: Engine, definition: JobDefinition, request: ChatRequest) -> NewCall:
    return NewCall(
        id=uuid7(),
        tier=definition.tier,
        provider=engine.route.provider,
        model=engine.route.model,
        prompt_key=definition.prompt_key,
        prompt_version=definition.prompt_version,
        request_hash=request.request_hash,
        input_bound=prompt_bound(request.messages),
        output_bound=request.max_tokens,
    )


def prompt_bound(messages: Iterable[Message]) -> int:
    """An upper bound of a prompt's tokens: its bytes, since no token is shorter than one."""
    return sum(len(message.content.encode()) for message in messages)


def _call_limit(definition: JobDefinition) -> int:
    return 2 * (1 + definition.max_retries + definition.repair_rounds)


def _completed(reply: Reply, began: float) -> CallOutcome:
    usage = reply.usage or TokenUsage(input=None, cached=None, output=None, reasoning=None)
    return CallOutcome(
        state="completed",
        latency_ms=_milliseconds(began),
        http_status=reply.http_status,
        finish_reason=reply.finish_reason,
        response_model=reply.response_model,
        input_tokens=usage.input,
        cached_tokens=usage.cached,
        output_tokens=usage.output,
        reasoning_tokens=usage.reasoning,
        raw_response=reply.to_journal(),
    )


def _ended(end: CallCut | ProviderFault, began: float) -> CallOutcome:
    if isinstance(end, CallCut):
        return CallOutcome(state="cut", latency_ms=_milliseconds(began))
    return CallOutcome(
        state="failed",
        latency_ms=_milliseconds(began),
        http_status=end.http_status,
        error_code=end.code,
    )


def _milliseconds(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
