"""One call through the journal: reserved and committed before it, completed after it.

Invariant: a call is in the books at its bound before it begins; how it ended is told to the circuit
of its route in the statement that completes it.
"""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import dataclass
from typing import Any

from uuid_utils.compat import uuid7

from aijobs.engine.attempt import Attempt
from aijobs.engine.chat import ChatRequest, Reply, Route, TokenUsage
from aijobs.engine.cut import CallCut, CutReason
from aijobs.engine.definition import JobDefinition
from aijobs.engine.engine import Engine
from aijobs.engine.errors import Effect, JobFault, ProviderFault
from aijobs.engine.gateway import AnsweredFault
from aijobs.engine.key_use import OwnKey, call_with_key
from aijobs.engine.limits import call_bound, circuit_rules, platform_budget, prompt_bound
from aijobs.engine.metrics import OWN_KEY, Asked
from aijobs.engine.pricing import cost_micro_usd
from aijobs.models import database as db
from aijobs.models.circuit import Recorded
from aijobs.models.journal import (
    CallOutcome,
    NewCall,
    finish_call,
    refused_calls,
    start_call,
)

#: What a route's circuit counts as its failure.
_FAILURES = frozenset({"PROVIDER_TIMEOUT", "PROVIDER_UNAVAILABLE"})
#: A call that its deadline cut had its chance when it had this part of the attempt's time.
_FAIR_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Call:
    """What is asked of whom: on a route of the platform, or with a user's own key."""

    definition: JobDefinition
    request: ChatRequest
    route: Route
    own: OwnKey | None = None


@dataclass(frozen=True, slots=True)
class CallEnd:
    """How an attempt's call of this number ended, and who was asked."""

    call_no: int
    outcome: CallOutcome
    asked: Asked


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer, whose call is not yet completed in the journal."""

    reply: Reply
    end: CallEnd


@dataclass(frozen=True, slots=True)
class Failed:
    """A fault of the provider, and its route's circuit after it."""

    fault: ProviderFault
    circuit: Recorded


def make_call(engine: Engine, attempt: Attempt, call: Call) -> Answered | Failed:
    """Raises CallCut with the call completed in the journal; LeaseLost, NoRoom, CircuitRefuses and
    JobFault before any call."""
    attempt.cut.check()
    _check_calls(attempt, call.definition)
    attempt.calls = call_no = start_call(
        attempt.lease,
        _new_call(engine, call),
        lease_seconds=engine.settings.lease_seconds,
        patient=attempt.may_insist,
        budget=platform_budget(engine.settings),
    )
    began = _Began()
    try:
        reply = call_with_key(engine, call.own or call.route, call.request, attempt.cut)
    except (CallCut, ProviderFault) as end:
        outcome = _ended(end, call, began)
        circuit = complete(engine, attempt, CallEnd(call_no, outcome, _asked(call)))
        if isinstance(end, CallCut):
            raise
        return Failed(end, circuit)
    return Answered(reply, CallEnd(call_no, _completed(reply, call, began), _asked(call)))


def complete(engine: Engine, attempt: Attempt, end: CallEnd) -> Recorded:
    """Complete a call in the journal, lease or not."""
    rules = circuit_rules(engine.settings)
    engine.meters.count_call(end.asked, end.outcome)
    return finish_call(
        attempt.lease, end.call_no, end.outcome, patient=attempt.may_insist, rules=rules
    )


def _asked(call: Call) -> Asked:
    return OWN_KEY if call.own else Asked(call.route.provider, call.route.model)


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


def _new_call(engine: Engine, call: Call) -> NewCall:
    definition, request = call.definition, call.request
    input_bound, output_bound = prompt_bound(request.messages), request.max_tokens
    routes = (call.route,) if call.own else engine.routes(definition.tier)
    return NewCall(
        id=uuid7(),
        tier=definition.tier,
        provider=call.route.provider,
        model=call.route.model,
        prompt_key=definition.prompt_key,
        prompt_version=definition.prompt_version,
        request_hash=request.request_hash,
        input_bound=input_bound,
        output_bound=output_bound,
        cost_bound=call_bound(routes, input_bound, output_bound).cost_micro_usd,
    )


def _completed(reply: Reply, call: Call, began: _Began) -> CallOutcome:
    return CallOutcome(
        state="completed",
        latency_ms=began.milliseconds(),
        **_spent(reply.usage, (reply.response_model, call.route.model), began),
        http_status=reply.http_status,
        finish_reason=reply.finish_reason,
        response_model=reply.response_model,
        raw_response=reply.to_journal(),
        verdict="overrun" if _is_beyond_bound(reply.usage, call.request) else "success",
    )


def _is_beyond_bound(usage: TokenUsage | None, request: ChatRequest) -> bool:
    """Whether a provider that was told a limit has used more."""
    if usage is None:
        return False
    bound = prompt_bound(request.messages) + request.max_tokens
    return (usage.input or 0) + (usage.output or 0) > bound


def _ended(end: CallCut | ProviderFault, call: Call, began: _Began) -> CallOutcome:
    if isinstance(end, CallCut):
        milliseconds = began.milliseconds()
        had_its_chance = milliseconds / 1000 >= call.definition.timeout_seconds * _FAIR_SHARE
        failed = end.reason is CutReason.DEADLINE and had_its_chance
        return CallOutcome(
            state="cut",
            latency_ms=milliseconds,
            error_code="PROVIDER_TIMEOUT" if failed else None,
            verdict="failure" if failed else None,
        )
    answered_by = end.response_model if isinstance(end, AnsweredFault) else None
    models = (answered_by, call.route.model)
    return CallOutcome(
        state="failed",
        latency_ms=began.milliseconds(),
        http_status=end.http_status,
        error_code=end.code,
        verdict=_verdict(end),
        **_spent(_counted(end), models, began),
    )


def _verdict(fault: ProviderFault) -> str | None:
    if fault.error.effect is Effect.CIRCUIT:
        return "fault"
    return "failure" if fault.code in _FAILURES else None


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
