"""Dramatiq on Redis, with consumers that are woken instead of polling.

Invariant: a message is a hint. Losing, doubling or delaying one is repaired from the database, so
no fault of Redis is an error of a job, and none may stop a consumer for good.
"""

# mypy: disable-error-code=no-untyped-call

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import redis
from dramatiq import Message, Middleware
from dramatiq.broker import MessageProxy
from dramatiq.brokers.redis import RedisBroker, _RedisConsumer
from dramatiq.common import dq_name, q_name
from dramatiq.errors import ConnectionClosed

from aijobs.actors.bells import Bells
from aijobs.actors.messages import NotAMessage, read_message
from aijobs.actors.queues import SYSTEM, TOPICS

IDLE_SECONDS = 30.0
_UNACKED_MILLISECONDS = 600_000
_SOCKET_SECONDS = 5.0


class WakingBroker(RedisBroker):
    """Enqueues in one round trip a batch and rings the consumers; only `system` has delayed
    messages.
    """

    def __init__(self, url: str, middleware: Sequence[Middleware], bells: Bells) -> None:
        client = redis.Redis.from_url(
            url, socket_timeout=_SOCKET_SECONDS, socket_connect_timeout=_SOCKET_SECONDS
        )
        super().__init__(
            client=client,
            middleware=list(middleware),
            namespace="aijobs",
            heartbeat_timeout=_UNACKED_MILLISECONDS,
        )
        self.bells = bells
        for name in (*TOPICS, SYSTEM):
            self.declare_queue(name)

    @property
    def consumer_class(self) -> type[WokenConsumer]:
        return WokenConsumer

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 5000) -> WokenConsumer:
        """A consumer that holds no more messages than there are threads to work on them."""
        if queue_name == q_name(queue_name):
            prefetch = max(1, prefetch // 2)  # dramatiq asks for two a thread
        return WokenConsumer(self, queue_name, prefetch, timeout)

    def declare_queue(self, queue_name: str) -> None:
        """Declare a queue; its twin for delayed messages only where those are used."""
        if queue_name in self.queues:
            return
        self.emit_before("declare_queue", queue_name)
        self.queues.add(queue_name)
        self.emit_after("declare_queue", queue_name)
        if queue_name == SYSTEM:
            self.delay_queues.add(dq_name(queue_name))
            self.emit_after("declare_delay_queue", dq_name(queue_name))

    def enqueue(self, message: Message[Any], *, delay: int | None = None) -> Message[Any]:
        """Enqueue one message and ring."""
        sent = super().enqueue(message, delay=delay)
        queue_name = message.queue_name if delay is None else dq_name(message.queue_name)
        self.bells.publish(self.client, [queue_name])
        return sent

    def enqueue_batch(self, messages: Sequence[Message[Any]]) -> None:
        """Enqueue messages in one round trip. Raises ConnectionClosed."""
        with self.client.pipeline(transaction=False) as pipe:
            for message in messages:
                self._queue_in(pipe, message)
            for queue_name in {message.queue_name for message in messages}:
                pipe.publish(self.bells.channel(queue_name), b"1")
            _execute(pipe)

    def backlog(self) -> int:
        """Messages waiting in all queues. Raises ConnectionClosed."""
        with self.client.pipeline(transaction=False) as pipe:
            for name in self.queues:
                pipe.llen(f"{self.namespace}:{name}")
            return int(sum(_execute(pipe)))

    def _queue_in(self, pipe: Any, message: Message[Any]) -> None:
        unique = message.copy(options={"redis_message_id": message.message_id})
        queue = f"{self.namespace}:{message.queue_name}"
        pipe.hset(f"{queue}.msgs", message.message_id, unique.encode())
        pipe.rpush(queue, message.message_id)


def _execute(pipe: Any) -> list[Any]:
    try:
        answers: list[Any] = pipe.execute()
    except redis.RedisError as error:
        raise ConnectionClosed(error) from None
    return answers


class WokenConsumer(_RedisConsumer):
    """Waits for a bell where the stock consumer sleeps; survives garbage and every Redis error."""

    broker: WakingBroker

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._look_at = 0.0
        self._rung = False

    def __next__(self) -> MessageProxy | None:
        """The next message in hand or in Redis; None after a wait for the bell."""
        try:
            message = self._cached() or self._fetched()
        except redis.RedisError as error:
            raise ConnectionClosed(error) from None
        if message is None:
            self.broker.bells.wait(self.queue_name, self._patience())
        return message

    def ack(self, message: MessageProxy) -> None:
        """Forget a message. When Redis is away it stays unacked: delivered twice, which is
        harmless.
        """
        try:
            super().ack(message)
        except (redis.RedisError, ConnectionClosed) as error:
            self.logger.warning("Not acknowledged: %s", error)
        self._has_room()

    def nack(self, message: MessageProxy) -> None:
        """Like ack, to the dead letters."""
        try:
            super().nack(message)
        except (redis.RedisError, ConnectionClosed) as error:
            self.logger.warning("Not rejected: %s", error)
        self._has_room()

    def requeue(self, messages: Any) -> None:
        try:
            super().requeue(messages)
        except redis.RedisError as error:
            raise ConnectionClosed(error) from None

    def _fetched(self) -> MessageProxy | None:
        """A look into Redis when the bell has rung, or none has for long: rings can be lost."""
        if self.broker.bells.take(self.queue_name):
            self._rung = True  # before room is counted: what is acknowledged later rings again
        room = self.prefetch - self.outstanding_message_count
        if room <= 0 or not (self._rung or time.monotonic() >= self._look_at):
            return None
        self._rung = False
        self._look_at = time.monotonic() + IDLE_SECONDS
        self.message_cache = self.broker.do_fetch(self.queue_name, room)
        if len(self.message_cache) == room:
            self.broker.bells.ring(self.queue_name)  # there may be more
        return self._cached()

    def _has_room(self) -> None:
        """Room for another message matters only if a ring found none."""
        if self._rung:
            self.broker.bells.ring(self.queue_name)

    def _cached(self) -> MessageProxy | None:
        while self.message_cache:
            data = self.message_cache.pop(0)
            if data is None:  # its body was evicted or flushed
                continue
            try:
                message = read_message(data, self.queue_name)
                message.options["redis_message_id"]
            except (NotAMessage, KeyError) as error:
                self.logger.error("Dropped a message that is none: %s", error)
                self._drop(data)
                continue
            self.queued_message_ids.add(message.message_id)
            return MessageProxy(message)
        return None

    def _drop(self, data: bytes) -> None:
        """Take garbage out of Redis, else it comes back whenever a worker dies."""
        key = f"{self.broker.namespace}:{self.queue_name}.msgs"
        for message_id, body in self.broker.client.hscan_iter(key):
            if body == data:
                self.broker.do_ack(self.queue_name, message_id)

    def _patience(self) -> float:
        """Seconds to wait for a bell: delayed messages in hand are looked at every second."""
        delayed = self.queue_name != q_name(self.queue_name)
        return 1.0 if delayed and self.queued_message_ids else IDLE_SECONDS
