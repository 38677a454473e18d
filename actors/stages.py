"""The stage actors: PREPARE and COMPLETE arrive as messages, the stages between are called in
process.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

import dramatiq
import structlog
from dramatiq import Broker
from dramatiq.middleware import CurrentMessage

from aijobs.actors.patience import outlast
from aijobs.actors.queues import SYSTEM, TOPICS
from aijobs.engine import stages
from aijobs.engine.attempt import Attempt
from aijobs.engine.cut import CallCut
from aijobs.engine.engine import Engine
from aijobs.engine.signals import Signals
from aijobs.engine.stages import Cut, Next, Outcome, Resolved, settle
from aijobs.models.results import Validated

T = TypeVar("T")

ISOLATED_FROM_CRASH = 2
_LONGEST_ATTEMPT_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class StageActors:
    """The two that messages name."""

    prepare: Any
    complete: Any


def declare(broker: Broker, engine: Engine, signals: Signals) -> StageActors:
    """Declare the actors of all five stages on a broker."""

    def follow(attempt: Attempt, outcome: Outcome[T], onward: Callable[[T], None]) -> None:
        if isinstance(outcome, Next):
            onward(outcome.value)
        else:
            settle(engine, attempt, outcome)

    def actor(name: str, queue_name: str) -> Callable[[Callable[..., None]], Any]:
        return dramatiq.actor(actor_name=name, queue_name=queue_name, broker=broker)

    @actor("project", TOPICS[0])
    def project(attempt: Attempt, resolved: Resolved, validated: Validated) -> None:
        outcome = stages.project(engine, attempt, resolved, validated)
        follow(attempt, outcome, lambda _: None)

    @actor("execute", TOPICS[0])
    def execute(attempt: Attempt, resolved: Resolved) -> None:
        outcome = stages.execute(engine, attempt, resolved)
        follow(attempt, outcome, lambda validated: project(attempt, resolved, validated))

    @actor("resolve", TOPICS[0])
    def resolve(attempt: Attempt) -> None:
        outcome = stages.resolve(engine, attempt)
        follow(attempt, outcome, lambda resolved: execute(attempt, resolved))

    def in_turn(attempt: Attempt) -> None:
        """Work on it when the process has room for it; its clocks start then."""
        alone = attempt.job.crash_count >= ISOLATED_FROM_CRASH
        try:
            with engine.crowd.entered(alone=alone, check=attempt.check_wait):
                attempt.begin()
                resolve(attempt)
        except CallCut as cut:
            settle(engine, attempt, Cut(cut.reason))

    @actor("prepare", TOPICS[0])
    def prepare(jobId: str) -> None:
        queue_name = _present_queue()
        engine.crowd.wait_until_shared(_LONGEST_ATTEMPT_SECONDS)
        attempt = outlast(lambda: stages.prepare(engine, queue_name))
        if attempt is None:
            return
        bound = {"job_id": str(attempt.lease.job_id), "attempt_no": attempt.lease.attempt_no}
        try:
            with structlog.contextvars.bound_contextvars(**bound):
                in_turn(attempt)
        finally:
            engine.attempts.remove(attempt)
            signals.hint_outbox()

    @actor("complete", SYSTEM)
    def complete(jobId: str) -> None:
        with structlog.contextvars.bound_contextvars(job_id=jobId):
            done = outlast(lambda: stages.complete(UUID(jobId), engine.meters))
            if done is not None and done.has_dependents:  # else no event was written
                signals.hint_outbox()

    return StageActors(prepare, complete)


def _present_queue() -> str:
    message = CurrentMessage.get_current_message()
    assert message is not None, "PREPARE is called for a message"
    return str(message.queue_name)
