"""Sparing callers the wait for a server that lately did not answer.

Invariant: after a failure one caller per pause asks, until an answer to a question that was put
after the last failure closes the circuit again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Spared(Exception):
    """The server was not asked; the text names its last failure."""


class ShortCircuit:
    """Stands before one server, for all threads of a process."""

    def __init__(self, pause_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._pause_seconds = pause_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._reason: str | None = None
        self._spared_until = 0.0

    def ask(self, question: Callable[[], T], faults: tuple[type[Exception], ...]) -> T:
        """What `question` returns or raises, `faults` counting as failures. Raises Spared."""
        failures = self._enter()
        try:
            answer = question()
        except faults as error:
            self._failed(type(error).__name__)
            raise
        self._answered(failures)
        return answer

    def _enter(self) -> int:
        """The failures so far. Who enters while the server is failing keeps all others out."""
        with self._lock:
            if self._reason is not None:
                now = self._clock()
                if now < self._spared_until:
                    raise Spared(self._reason)
                self._spared_until = now + self._pause_seconds
            return self._failures

    def _failed(self, reason: str) -> None:
        with self._lock:
            self._failures += 1
            self._reason = reason
            self._spared_until = self._clock() + self._pause_seconds

    def _answered(self, failures: int) -> None:
        with self._lock:
            if failures == self._failures:
                self._reason = None
