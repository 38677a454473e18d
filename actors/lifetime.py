"""What lives as long as a worker process: listener, heartbeat, and in a system worker relay and
ticker.

Invariant: a stopping process claims nothing new, gives running calls their time, then cuts them and
hands their jobs back.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

import redis
from dramatiq import Middleware

from aijobs.actors.bells import Bells
from aijobs.actors.eviction import warn_of_eviction
from aijobs.actors.heartbeat import Heartbeat
from aijobs.actors.passes import Passes, Ticker
from aijobs.actors.patience import stop_waiting
from aijobs.actors.queues import SYSTEM, TOPICS
from aijobs.actors.relay import Relay
from aijobs.engine.engine import Engine
from aijobs.engine.signals import CANCEL_CHANNEL, OUTBOX_CHANNEL, Listener
from aijobs.engine.wakeups import catch_up_on_cancels, hear_cancel

_LAST_SECONDS = 5.0


class Agent(Protocol):
    """Something that runs in a thread of its own until it is stopped."""

    def run(self) -> None: ...

    def stop(self) -> None: ...


class Lifetime(Middleware):
    """Starts the agents when the worker boots and stops them when it shuts down."""

    def __init__(self, engine: Engine, bells: Bells, client: redis.Redis) -> None:
        self._engine = engine
        self._client = client
        self._bells = bells
        self._agents: list[tuple[Agent, threading.Thread]] = []
        self._relay: Relay | None = None
        self.passes: Callable[[], Passes] | None = None

    def after_worker_boot(self, broker: Any, worker: Any) -> None:
        """Start what this worker's queues need."""
        queues = worker.consumer_whitelist or {*TOPICS, SYSTEM}
        client = _listening_client(self._engine.settings.redis_url)
        self._start(Heartbeat(self._engine, self._client))
        channels = [self._bells.channel(name) for name in (*queues, f"{SYSTEM}.DQ")]
        channels.append(CANCEL_CHANNEL)
        if SYSTEM in queues:
            channels.append(OUTBOX_CHANNEL)  # several hints a job, of use to a relay alone
            self._start_system(broker)
        self._start(Listener(client, channels, self._heard, self._connected))

    def before_worker_shutdown(self, broker: Any, worker: Any) -> None:
        """Begin to drain beside the worker's own stop, which waits for its threads."""
        stop_waiting()
        seconds = self._engine.settings.shutdown_seconds
        threading.Thread(target=self._engine.attempts.drain, args=(seconds,), daemon=True).start()
        self._bells.close()

    def after_worker_shutdown(self, broker: Any, worker: Any) -> None:
        """Stop the agents once no attempt is left: leases held until here were renewed, and a relay
        ends its batch.
        """
        self._engine.attempts.wait_until_idle(_LAST_SECONDS)
        for agent, _ in reversed(self._agents):
            agent.stop()
        for _, thread in self._agents:
            thread.join(_LAST_SECONDS)

    def hint_relay(self) -> None:
        """Events were written in this process."""
        if self._relay is not None:
            self._relay.hint()

    def _start_system(self, broker: Any) -> None:
        settings = self._engine.settings
        self._relay = Relay(
            broker,
            self._engine.holder,
            batch=settings.outbox_batch,
            poll_seconds=settings.outbox_poll_seconds,
        )
        self._start(self._relay)
        if self.passes is not None:
            self._start(Ticker(self.passes(), settings.reaper_interval_seconds))

    def _start(self, agent: Agent) -> None:
        thread = threading.Thread(target=agent.run, name=type(agent).__name__, daemon=True)
        self._agents.append((agent, thread))
        thread.start()

    def _heard(self, channel: str, data: bytes) -> None:
        if channel == OUTBOX_CHANNEL:
            self.hint_relay()
        elif channel == CANCEL_CHANNEL:
            hear_cancel(self._engine.attempts, data)
        else:
            self._bells.heard(channel)

    def _connected(self) -> None:
        self._bells.ring_all()
        self.hint_relay()
        catch_up_on_cancels(self._engine.attempts, self._client)
        if self._relay is not None:  # one voice is enough
            warn_of_eviction(self._client)


def _listening_client(url: str) -> redis.Redis:
    """No read time-out: silence is normal; a dead peer shows by TCP keepalive."""
    return redis.Redis.from_url(url, socket_keepalive=True, socket_connect_timeout=5)
