"""One bell per queue: rung by a Redis channel, by an acknowledgement, or when a connection comes
back.

Invariant: a ring between a look and the wait after it is not lost, since a bell is silenced
before the look.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

_PREFIX = "aijobs:wake:"
_CLOSED_SECONDS = 0.1


class Bells:
    """The bells of this process."""

    def __init__(self) -> None:
        self._bells: defaultdict[str, threading.Event] = defaultdict(threading.Event)
        self._closed = False

    @staticmethod
    def channel(queue_name: str) -> str:
        """The Redis channel of a queue's bell."""
        return f"{_PREFIX}{queue_name}"

    def publish(self, client: Any, queue_names: Iterable[str]) -> None:
        """Ring these queues in every process."""
        for queue_name in queue_names:
            client.publish(self.channel(queue_name), b"1")

    def heard(self, channel: str) -> None:
        """Ring what a channel stands for."""
        self.ring(channel.removeprefix(_PREFIX))

    def ring(self, queue_name: str) -> None:
        self._bells[queue_name].set()

    def ring_all(self) -> None:
        """Rings may have been missed."""
        for bell in list(self._bells.values()):
            bell.set()

    def take(self, queue_name: str) -> bool:
        """Whether the bell has rung since the last time; it is silent then."""
        if not self._bells[queue_name].is_set():
            return False  # and not silenced: a ring right now is kept
        self._bells[queue_name].clear()
        return True

    def wait(self, queue_name: str, seconds: float) -> None:
        """Until the bell rings, `seconds` at most; hardly at all once closed."""
        self._bells[queue_name].wait(min(seconds, _CLOSED_SECONDS) if self._closed else seconds)

    def close(self) -> None:
        """The process stops: nobody waits for a bell any more."""
        self._closed = True
        self.ring_all()
