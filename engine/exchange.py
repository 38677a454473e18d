"""One question and its answer, through the journal: committed before the call and after it."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import structlog
from uuid_utils.compat import uuid7

from aijobs.engine.attempt import Attempt
from aijobs.engine.chat import ChatRequest, Message, Reply, Route, TokenUsage
from aijobs.engine.cut import CallCut
from aijobs.engine.definition import JobDefinition
from aijobs.engine.engine import Engine
from aijobs.engine.errors import Effect, JobFault, ProviderFault
from aijobs.engine.gateway import AnsweredFault
from aijobs.engine.key_use import OwnKey, call_with_key, own_key_of
from aijobs.engine.pricing import cost_micro_usd
from aijobs.models import database as db
from aijobs.models.errors import LeaseLost
from aijobs.models.journal import (
    CallOutcome,
    NewCall,
    answer_of,
    finish_call,
    finish_with_result,
    refused_calls,
    start_call,
)
from aijobs.models.results import Validated

log = structlog.get_logger()


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
    return _fall_over(engine, attempt, definition, request)


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


@dataclass(frozen=True, slots=True)
class _Call:
    definition: JobDefinition
    request: ChatRequest
    route: Route
    own: OwnKey | None = None


def _fall_over(
    engine: Engine, attempt: Attempt, definition: JobDefinition, request: ChatRequest
) -> Exchange:
    """The tier's routes in their order: the next one where another try may help, within the
    attempt's deadline; the last one's fault is the answer. A user's own key has one route."""
    if own := own_key_of(engine, attempt):
        return _call(engine, attempt, _Call(definition, request, own.route, own))
    *earlier, last = engine.routes(definition.tier)
    for route in earlier:
        try:
            return _call(engine, attempt, _Call(definition, request, route))
        except ProviderFault as fault:
            if not fault.error.retryable and fault.error.effect is Effect.NONE:
                raise
            log.info("route_failed", provider=route.provider, error_code=fault.code)
    return _call(engine, attempt, _Call(definition, request, last))


def _call(engine: Engine, attempt: Attempt, call: _Call) -> Exchange:
    attempt.cut.check()
    _check_calls(attempt, call.definition)
    attempt.calls = call_no = start_call(
        attempt.lease,
        _new_call(call),
        lease_seconds=engine.settings.lease_seconds,
        patient=attempt.may_insist,
    )
    began = _Began()
    try:
        reply = call_with_key(engine, call.own or call.route, call.request, attempt.cut)
    except (CallCut, ProviderFault) as end:
        outcome = _ended(end, call.route, began)
        finish_call(attempt.lease, call_no, outcome, patient=attempt.may_insist)
        raise
    return Exchange(reply, (call_no, _completed(reply, call.route, began)))


def _check_calls(attempt: Attempt, definition: JobDefinition) -> None:
    """Raise the last call's fault when a job has asked too often. Calls that the account or the key
    were refused do not count: they are the platform's matter, and the job waits for it."""
    limit = 2 * (1 + definition.max_retries + definition.repair_rounds)
    if attempt.calls < limit:
        return
    job_id = attempt.lease.job_id
    refused, last = db.read(lambda: refused_calls(job_id), patient=attempt.may_insist)
    if attempt.calls - refused >= limit:
        detail = f"no usable answer in {attempt.calls - refused} calls"
        raise JobFault(last or "OUTPUT_INVALID_JSON", detail).final()


class _Began:
    """When a call began: for its price by the wall clock, for its length by the monotonic one."""

    def __init__(self) -> None:
        self.at = dt.datetime.now(dt.UTC)
        self._monotonic = time.monotonic()

    def milliseconds(self) -> int:
        return round((time.monotonic() - self._monotonic) * 1000)


def _new_call(call: _Call) -> NewCall:
    definition, request = call.definition, call.request
    return NewCall(
        id=uuid7(),
        tier=definition.tier,
        provider=call.route.provider,
        model=call.route.model,
        prompt_key=definition.prompt_key,
        prompt_version=definition.prompt_version,
        request_hash=request.request_hash,
        input_bound=prompt_bound(request.messages),
        output_bound=request.max_tokens,
    )


def prompt_bound(messages: Iterable[Message]) -> int:
    """An upper bound of a prompt's tokens: its bytes, since no token is shorter than one."""
    return sum(len(message.content.encode()) for message in messages)


def _completed(reply: Reply, route: Route, began: _Began) -> CallOutcome:
    return CallOutcome(
        state="completed",
        latency_ms=began.milliseconds(),
        **_spent(reply.usage, (reply.response_model, route.model), began),
        http_status=reply.http_status,
        finish_reason=reply.finish_reason,
        response_model=reply.response_model,
        raw_response=reply.to_journal(),
    )


def _ended(end: CallCut | ProviderFault, route: Route, began: _Began) -> CallOutcome:
    if isinstance(end, CallCut):
        return CallOutcome(state="cut", latency_ms=began.milliseconds())
    answered_by = end.response_model if isinstance(end, AnsweredFault) else None
    models = (answered_by, route.model)
    return CallOutcome(
        state="failed",
        latency_ms=began.milliseconds(),
        http_status=end.http_status,
        error_code=end.code,
        **_spent(_counted(end), models, began),
    )


def _counted(fault: ProviderFault) -> TokenUsage | None:
    """What a failed call used: as told, nothing where a status refused it, else nobody knows."""
    if isinstance(fault, AnsweredFault):
        return fault.usage
    refused = fault.http_status is not None and fault.http_status >= 300
    return TokenUsage(input=0, cached=0, output=0, reasoning=0) if refused else None


def _spent(
    usage: TokenUsage | None, models: tuple[str | None, ...], began: _Began
) -> dict[str, Any]:
    """The token and cost columns; none of them when the provider did not count."""
    if usage is None:
        return {}
    return {
        "input_tokens": usage.input,
        "cached_tokens": usage.cached,
        "output_tokens": usage.output,
        "reasoning_tokens": usage.reasoning,
        "cost_micro_usd": cost_micro_usd(usage, models, began.at),
    }
