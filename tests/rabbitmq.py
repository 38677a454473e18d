"""The RabbitMQ of AMQP_URL, beside the product: what its queues hold, and what a test puts there.

Invariant: one run of the tests has it at a time, and no queue outlives a test. Workers that others
run on it make the tests fail, rather than the tests take their messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pika
import pika.exceptions
from dramatiq.common import dq_name, xq_name
from pika.adapters.blocking_connection import BlockingChannel

from aijobs.actors.queues import SYSTEM, TOPICS
from tests.eventually import eventually

_LOCK = "aijobs-tests-run-here"
_RESOURCE_LOCKED = 405
_OTHERS_SECONDS = 240
_LAST_CONSUMERS_SECONDS = 30
_QUEUES = [each for q in (*TOPICS, SYSTEM) for each in (q, dq_name(q), xq_name(q))]


class Rabbit:
    """Each question has a connection of its own: a test may take its time in between."""

    def __init__(self, url: str) -> None:
        self.url = url

    @property
    def place(self) -> tuple[str, int]:
        """Host and port."""
        parts = urlsplit(self.url)
        return parts.hostname or "127.0.0.1", parts.port or 5672

    def url_at(self, port: int) -> str:
        """The same RabbitMQ behind a port of this machine."""
        parts = urlsplit(self.url)
        person = parts.netloc.rpartition("@")[0]
        return parts._replace(netloc=f"{person}@127.0.0.1:{port}".lstrip("@")).geturl()

    def clear(self) -> None:
        """Delete every queue, once nobody listens any more."""
        eventually(self._is_left_alone, _LAST_CONSUMERS_SECONDS)
        for name in _QUEUES:
            self.delete(name)

    def delete(self, name: str) -> int:
        """Delete a queue, whoever listens; the number of messages that waited in it."""
        with self._channel() as channel:
            return int(channel.queue_delete(name).method.message_count)

    def purge(self, name: str) -> int:
        """Delete what waits in a queue; the number of messages."""
        with self._channel() as channel:
            return int(channel.queue_purge(name).method.message_count)

    def waiting(self, name: str) -> int:
        """How many messages wait in a queue; none where there is no queue."""
        return self._counts(name)[0]

    def listeners(self, name: str) -> int:
        """How many consumers a queue has."""
        return self._counts(name)[1]

    def publish(self, name: str, body: bytes) -> None:
        """Put a body into a queue; somebody must have made it."""
        with self._channel() as channel:
            channel.confirm_delivery()
            channel.basic_publish("", name, body, mandatory=True)

    def dead_letters(self, name: str) -> dict[str, list[bytes]]:
        """Take what was rejected, each once, from a queue and its twin: by where it was."""
        found: dict[str, list[bytes]] = {}
        with self._channel() as channel:
            while (got := channel.basic_get(xq_name(name), auto_ack=True))[0] is not None:
                _, properties, body = got
                assert properties is not None and body is not None
                (death,) = (properties.headers or {})["x-death"]
                assert (death["reason"], death["count"]) == ("rejected", 1)
                found.setdefault(death["queue"], []).append(body)
        return found

    def _is_left_alone(self) -> bool:
        listened = [name for name in _QUEUES if self.listeners(name)]
        assert not listened, f"workers of somebody else listen to {', '.join(listened)}"
        return True

    def _counts(self, name: str) -> tuple[int, int]:
        """(messages, consumers)"""
        with self._channel() as channel:
            try:
                method = channel.queue_declare(name, passive=True).method
            except pika.exceptions.ChannelClosedByBroker:
                return 0, 0
        return method.message_count, method.consumer_count

    @contextmanager
    def _channel(self) -> Iterator[BlockingChannel]:
        with _connected(self.url) as connection:
            yield connection.channel()


@contextmanager
def own_rabbit(url: str) -> Iterator[Rabbit]:
    """The RabbitMQ, from nobody else's having it until the end of the block."""
    with _connected(url, heartbeat=0) as connection:
        eventually(lambda: _is_locked(connection), _OTHERS_SECONDS)
        rabbit = Rabbit(url)
        rabbit.clear()
        yield rabbit
        rabbit.clear()


def _is_locked(connection: pika.BlockingConnection) -> bool:
    """A queue that is one connection's own is gone with it, however that ends."""
    try:
        connection.channel().queue_declare(_LOCK, exclusive=True)
    except pika.exceptions.ChannelClosedByBroker as error:
        if error.reply_code != _RESOURCE_LOCKED:
            raise
        return False  # another run of the tests has it
    return True


@contextmanager
def _connected(url: str, **parameters: Any) -> Iterator[pika.BlockingConnection]:
    node = pika.URLParameters(url)
    for name, value in parameters.items():
        setattr(node, name, value)
    connection = pika.BlockingConnection(node)
    try:
        yield connection
    finally:
        if connection.is_open:
            connection.close()
