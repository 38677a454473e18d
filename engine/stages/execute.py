"""EXECUTE: ask the model until an answer passes every check, within bounded rounds.

Invariant: a question whose answer is in the journal is not asked again, so the conversation of a
dead attempt is replayed up to where it broke off.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import structlog

from aijobs.engine.answer import output_hash, read_answer
from aijobs.engine.attempt import Attempt
from aijobs.engine.chat import ChatRequest
from aijobs.engine.engine import Engine
from aijobs.engine.errors import AnswerFault, Deferred, JobFault
from aijobs.engine.exchange import Exchange, ask, close, keep
from aijobs.engine.prompting import render, render_repair
from aijobs.engine.stages.outcome import stage
from aijobs.engine.stages.resolve import Resolved, nonce
from aijobs.models.results import Validated

_WRITE_SECONDS = 30.0
_LARGER = 2

log = structlog.get_logger()


@stage
def execute(engine: Engine, attempt: Attempt, resolved: Resolved) -> Validated:
    """A validated answer, kept; or the fault that ends the attempt."""
    if resolved.validated is not None:
        return resolved.validated
    attempt.enter(attempt.cut.remaining() + _WRITE_SECONDS)
    request, repairs, refused = resolved.request, 0, None
    while True:
        with _or_end_with(refused):
            exchange = ask(engine, attempt, resolved.definition, request)
        try:
            answer = read_answer(resolved.definition, exchange.reply, resolved.params)
        except JobFault as fault:
            close(engine, attempt, exchange, fault)
            request, repairs = _follow_up(attempt, resolved, (request, repairs), exchange, fault)
            refused = fault
        except Exception:  # a bug of ours: the answer is paid for and kept all the same
            close(engine, attempt, exchange, JobFault("INTERNAL_ERROR"))
            raise
        else:
            validated = Validated(
                output=answer.value,
                output_hash=output_hash(answer.value),
                snapshot_hash=resolved.snapshot.content_hash,
                requested_count=resolved.params.requested_count,
                delivered_count=answer.delivered_count,
            )
            keep(engine, attempt, exchange, validated)
            return validated


@contextmanager
def _or_end_with(refused: JobFault | None) -> Iterator[None]:
    """A follow-up that is beyond every day's limits is not waited for: what it follows is final."""
    try:
        yield
    except Deferred as deferred:
        if deferred.is_hopeless and refused is not None:
            raise refused from deferred
        raise


def _follow_up(
    attempt: Attempt,
    resolved: Resolved,
    asked: tuple[ChatRequest, int],
    exchange: Exchange,
    fault: JobFault,
) -> tuple[ChatRequest, int]:
    """The next request of the conversation and the repair rounds used; raises a final fault."""
    request, repairs = asked
    log.info("answer_refused", error_code=fault.code, repairs=repairs)
    if fault.code == "OUTPUT_TRUNCATED" and request.max_tokens == resolved.request.max_tokens:
        return replace(request, max_tokens=request.max_tokens * _LARGER), repairs
    if not isinstance(fault, AnswerFault) or not fault.repairable:
        raise fault
    if fault.code == "OUTPUT_TRUNCATED" or repairs >= resolved.definition.repair_rounds:
        raise fault
    delimiter = nonce(attempt, resolved.snapshot, f"repair:{repairs + 1}")
    if exchange.reply.text and exchange.reply.text.strip():
        messages = render_repair(
            resolved.definition, exchange.reply.text, fault.problems, delimiter
        )
    else:  # nothing to repair: the same question under another delimiter
        messages = render(resolved.definition, resolved.snapshot.content, delimiter)
    return replace(request, messages=messages), repairs + 1
