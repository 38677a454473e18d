# mypy: disable-error-code=no-untyped-call
"""Dramatiq on RabbitMQ: it pushes, so nobody has to be woken; every publish is confirmed.

Invariant: as on Redis a message is a hint, and an outage of the broker counts against nothing: each
of its faults is a ConnectionClosed, whatever pika or the system calls it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, cast

import pika.exceptions
from dramatiq import Message, Middleware
from dramatiq.broker import MessageProxy
from dramatiq.brokers.rabbitmq import RabbitmqBroker, _RabbitmqConsumer, _RabbitmqMessage
from dramatiq.common import q_name
from dramatiq.errors import ConnectionClosed
from pika.adapters.utils.connection_workflow import AMQPConnectorException

from aijobs.actors.messages import NotAMessage, read_message
from aijobs.actors.queues import SYSTEM, TOPICS

_HEARTBEAT_SECONDS = 60
_TIMEOUT_SECONDS = 5
_NOT_FOUND = 404
#: A silent server is an AMQPConnectorException, a host without address an OSError.
_FAULTS = (pika.exceptions.AMQPError, AMQPConnectorException, OSError)


class ConfirmingBroker(RabbitmqBroker):
    """Enqueues with confirmation; consumers hold one message a thread."""

    def __init__(self, url: str, middleware: Sequence[Middleware]) -> None:
        super().__init__(url=url, middleware=list(middleware), confirm_delivery=True)
        nodes = self.parameters if isinstance(self.parameters, list) else [self.parameters]
        for node in nodes:
            node.heartbeat = _HEARTBEAT_SECONDS
            node.socket_timeout = _TIMEOUT_SECONDS
            node.stack_timeout = _TIMEOUT_SECONDS
            node.blocked_connection_timeout = _TIMEOUT_SECONDS
        for name in (*TOPICS, SYSTEM):
            self.declare_queue(name)

    @property
    def consumer_class(self) -> type[SturdyConsumer]:
        return SturdyConsumer

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 5000) -> SturdyConsumer:
        """A consumer that holds no more messages than there are threads to work on them."""
        if queue_name == q_name(queue_name):
            prefetch = max(1, prefetch // 2)  # dramatiq asks for two a thread
        with self._faults_told():
            return cast(SturdyConsumer, super().consume(queue_name, prefetch, timeout))

    def enqueue(self, message: Message[Any], *, delay: int | None = None) -> Message[Any]:
        """Enqueue one message, confirmed. Raises ConnectionClosed."""
        with self._faults_told():
            return super().enqueue(message, delay=delay)

    def enqueue_batch(self, messages: Sequence[Message[Any]]) -> None:
        """Enqueue messages, each confirmed. Raises ConnectionClosed."""
        for message in messages:
            self.enqueue(message)

    def backlog(self) -> int:
        """Messages waiting in all queues. Raises ConnectionClosed."""
        with self._faults_told():
            return sum(self._length(name) for name in self.queues)

    def _length(self, queue_name: str) -> int:
        """Messages waiting in a queue, which is made if it was deleted."""
        try:
            answer = self.channel.queue_declare(queue_name, passive=True)
        except pika.exceptions.ChannelClosedByBroker as error:
            del self.channel
            if error.reply_code != _NOT_FOUND:
                raise
            self.queues_pending.add(queue_name)
            self.declare_queue(queue_name, ensure=True)
            return 0
        return int(answer.method.message_count)

    @contextmanager
    def _faults_told(self) -> Iterator[None]:
        try:
            yield
        except _FAULTS as error:
            del self.connection
            raise ConnectionClosed(error) from None


class SturdyConsumer(_RabbitmqConsumer):
    """Passes garbage to the dead letters; never keeps a thread for an acknowledgement."""

    broker: ConfirmingBroker

    def __next__(self) -> MessageProxy | None:
        """The next message; None after a while without any, or for garbage."""
        method, body = self._delivered()
        if method is None:
            return None
        try:
            message = read_message(body, self.queue_name)
        except NotAMessage as error:
            self.logger.error("Dropped a message that is none: %s", error)
            with suppress(pika.exceptions.AMQPError):  # else it comes again
                self._nack(method.delivery_tag)
            return None
        self.known_tags.add(method.delivery_tag)
        return _RabbitmqMessage(method.redelivered, method.delivery_tag, message)

    def ack(self, message: MessageProxy) -> None:
        """Forget a message. Without a connection it is delivered again, which is harmless."""
        try:
            super().ack(message)
        except ConnectionClosed as error:
            self.logger.warning("Not acknowledged: %s", error)

    def nack(self, message: MessageProxy) -> None:
        """Like ack, to the dead letters."""
        try:
            super().nack(message)
        except ConnectionClosed as error:
            self.logger.warning("Not rejected: %s", error)

    def _delivered(self) -> tuple[Any, Any]:
        try:
            method, _, body = next(self.iterator)
        except StopIteration:
            self._declare_again()
            raise ConnectionClosed("the queue was deleted") from None
        except (AssertionError, *_FAULTS) as error:
            if getattr(error, "reply_code", None) == _NOT_FOUND:
                self._declare_again()
            raise ConnectionClosed(error) from None
        return method, body

    def _declare_again(self) -> None:
        self.broker.queues_pending.add(q_name(self.queue_name))
