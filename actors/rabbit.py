# mypy: disable-error-code=no-untyped-call
"""Dramatiq on RabbitMQ: it pushes, so nobody has to be woken; every publish is confirmed.

Invariant: as on Redis a message is a hint, and an outage of the broker counts against nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pika.exceptions
from dramatiq import Message, Middleware
from dramatiq.broker import Consumer
from dramatiq.brokers.rabbitmq import RabbitmqBroker
from dramatiq.common import q_name
from dramatiq.errors import ConnectionClosed

from aijobs.actors.queues import SYSTEM, TOPICS

_HEARTBEAT_SECONDS = 60
_TIMEOUT_SECONDS = 5


class ConfirmingBroker(RabbitmqBroker):
    """Enqueues with confirmation; consumers hold one message a thread."""

    def __init__(self, url: str, middleware: Sequence[Middleware]) -> None:
        super().__init__(url=url, middleware=list(middleware), confirm_delivery=True)
        nodes = self.parameters if isinstance(self.parameters, list) else [self.parameters]
        for node in nodes:
            node.heartbeat = _HEARTBEAT_SECONDS
            node.socket_timeout = _TIMEOUT_SECONDS
            node.blocked_connection_timeout = _TIMEOUT_SECONDS
        for name in (*TOPICS, SYSTEM):
            self.declare_queue(name)

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 5000) -> Consumer:
        """A consumer that holds no more messages than there are threads to work on them."""
        if queue_name == q_name(queue_name):
            prefetch = max(1, prefetch // 2)  # dramatiq asks for two a thread
        return super().consume(queue_name, prefetch, timeout)

    def enqueue_batch(self, messages: Sequence[Message[Any]]) -> None:
        """Enqueue messages, each confirmed. Raises ConnectionClosed."""
        for message in messages:
            self.enqueue(message)

    def backlog(self) -> int:
        """Messages waiting in all queues. Raises ConnectionClosed."""
        try:
            declared = [self.channel.queue_declare(name, passive=True) for name in self.queues]
        except (pika.exceptions.AMQPConnectionError, pika.exceptions.AMQPChannelError) as error:
            del self.connection
            raise ConnectionClosed(error) from None
        return sum(answer.method.message_count for answer in declared)
