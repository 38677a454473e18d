"""The relay: claims due outbox events, enqueues them in one batch, marks them published.

Invariant: between claim and publish an event is this relay's; a crash there sends it twice, which
is harmless, and an outage of the broker counts against no event.
"""

from __future__ import annotations

import threading
from typing import Any

import structlog
from dramatiq import Message
from dramatiq.errors import ConnectionClosed

from aijobs.actors.queues import SYSTEM, TOPICS
from aijobs.actors.transport import Transport
from aijobs.engine.bugs import frames_of
from aijobs.engine.errors import ERRORS
from aijobs.models import outbox
from aijobs.models.errors import DatabaseAway, ModelError
from aijobs.models.lifecycle import Failure, reject
from aijobs.models.outbox import Event
from aijobs.models.probes import sending
from aijobs.models.transitions import CANCELLED, COMPLETED, ENQUEUE, FAILED

_LONGEST_BACKOFF_SECONDS = 5.0
# After a batch the next one gathers for so long; after silence an event leaves at once.
_GATHER_SECONDS = 0.02

log = structlog.get_logger()


class UnknownQueue(Exception):
    """An event names a queue that does not exist: a fault of the event."""


class Relay:
    """One relay of this process, known to the outbox as `name`."""

    def __init__(self, broker: Transport, name: str, *, batch: int, poll_seconds: float) -> None:
        self._broker = broker
        self._name = name
        self._batch = batch
        self._poll_seconds = poll_seconds
        self._hinted = threading.Event()
        self._stopped = threading.Event()
        self._failures = 0

    def hint(self) -> None:
        """Events may be waiting."""
        self._hinted.set()

    def run(self) -> None:
        """Relay until stopped: after a hint, at once or with what gathers, else every poll."""
        while not self._stopped.is_set():
            self._hinted.clear()
            taken = self._turn()
            if taken == self._batch:
                continue
            if taken:
                self._stopped.wait(_GATHER_SECONDS)
            self._hinted.wait(self._pause())

    def stop(self) -> None:
        """End `run` after its present batch."""
        self._stopped.set()
        self._hinted.set()

    def run_once(self) -> int:
        """Relay one batch; the number of events taken. Raises DatabaseAway or a broker's error."""
        events = outbox.claim_events(self._name, self._batch)
        if not events:
            return 0
        messages, done = [], []
        for event in events:
            try:
                message = to_message(event)
            except (UnknownQueue, KeyError, TypeError, ValueError) as fault:
                self._count_fault(event, fault)
            else:
                done.append(event.id)
                messages.extend([message] if message else [])
        self._send(messages, done)
        if done:
            outbox.publish(self._name, done)
        return len(events)

    def _send(self, messages: list[Message[Any]], ids: list[int]) -> None:
        if not messages:
            return
        try:
            with sending("relay_message"):
                self._broker.enqueue_batch(messages)
        except Exception as error:  # the broker's or a bug of ours: no fault of the events
            outbox.return_events(self._name, ids, error=f"{type(error).__name__}: {error}")
            raise

    def _turn(self) -> int:
        try:
            taken = self.run_once()
        except (DatabaseAway, ConnectionClosed) as error:
            self._failures += 1
            log.warning("relay_waits", error=type(error).__name__, failures=self._failures)
            return 0
        except Exception as error:
            self._failures += 1
            log.error("relay_failed", **frames_of(error))
            return 0
        self._failures = 0
        return taken

    def _pause(self) -> float:
        backoff = self._poll_seconds * 2.0 ** min(self._failures, 8)
        return backoff if self._failures == 0 else min(backoff, _LONGEST_BACKOFF_SECONDS)

    def _count_fault(self, event: Event, fault: Exception) -> None:
        log.error("event_faulty", event_id=event.id, event_type=event.event_type, fault=str(fault))
        if not outbox.count_fault(self._name, event.id, error=f"{type(fault).__name__}: {fault}"):
            return
        error = ERRORS["DEAD_EVENT"]
        failure = Failure(error.code, error.public_message("en"), f"event {event.id}: {fault}")
        try:
            reject(event.job_id, failure, cause="dead_event", actor=f"relay:{self._name}")
        except ModelError as refusal:
            log.info("dead_event_moot", event_id=event.id, detail=str(refusal))


def to_message(event: Event) -> Message[Any] | None:
    """The message of an event; None for a type that is not relayed.

    Raises UnknownQueue, or KeyError and TypeError for a payload without its fields.
    """
    if event.event_type == ENQUEUE:
        queue_name = event.payload["queueName"]
        if queue_name not in TOPICS:
            raise UnknownQueue(f"queue {queue_name!r} does not exist")
        return _message("prepare", queue_name, event)
    if event.event_type in (COMPLETED, FAILED, CANCELLED):
        return _message("complete", SYSTEM, event)
    log.warning("event_not_relayed", event_type=event.event_type, event_id=event.id)
    return None


def _message(actor_name: str, queue_name: str, event: Event) -> Message[Any]:
    job_id = event.payload["jobId"]
    return Message(
        queue_name=queue_name,
        actor_name=actor_name,
        args=(),
        kwargs={"jobId": str(job_id)},
        options={},
    )
