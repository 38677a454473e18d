"""What the agents need of a broker beyond Dramatiq's interface, and the one of the settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from dramatiq import Broker, Message, Middleware

from aijobs.actors.bells import Bells
from aijobs.actors.broker import WakingBroker
from aijobs.engine.settings import Settings


class Transport(Protocol):
    """A broker as the relay and the sweep see it."""

    def enqueue_batch(self, messages: Sequence[Message[Any]]) -> None:
        """Enqueue messages. Raises ConnectionClosed; then some of them may have been sent."""

    def backlog(self) -> int:
        """Messages waiting in all queues. Raises ConnectionClosed."""
        ...


def make_broker(settings: Settings, middleware: Sequence[Middleware], bells: Bells) -> Broker:
    """RabbitMQ where AMQP_URL is set, else Redis. Both are a Transport, not yet connected."""
    if settings.amqp_url is None:
        return WakingBroker(settings.redis_url, middleware, bells)
    from aijobs.actors.rabbit import ConfirmingBroker

    return ConfirmingBroker(settings.amqp_url, middleware)
