"""Ending a call from outside: cancel, lost lease, shutdown and the total deadline close its socket.

Invariant: after `cut()` returns, whatever was attached has been closed once, and everything
attached later is closed at once; so a call can be ended while connecting, waiting, or reading.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum


class CutReason(Enum):
    """Why a call was ended before its answer was complete."""

    CANCELLED = "cancelled"
    LEASE_LOST = "lease_lost"
    SHUTDOWN = "shutdown"
    DEADLINE = "deadline"


class CallCut(Exception):
    """A call ended because its Cut was used. Not an error of the job."""

    def __init__(self, reason: CutReason) -> None:
        super().__init__(reason.value)
        self.reason = reason


class Cut:
    """One attempt's scissors, shared by the thread that calls and the threads that watch it.

    `deadline` is on `time.monotonic()`: total wall time, which no keep-alive byte extends.
    """

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.reason: CutReason | None = None
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._closers: list[Callable[[], None]] = []

    def cut(self, reason: CutReason) -> None:
        """End the call. The first reason stays."""
        with self._lock:
            if self.reason is None:
                self.reason = reason
            closers, self._closers = self._closers, []
            self._event.set()
        for close in closers:
            with suppress(OSError):
                close()

    @contextmanager
    def attached(self, close: Callable[[], None]) -> Iterator[None]:
        """Have `close` called by a cut during this block (at once, if it came before)."""
        with self._lock:
            early = self.reason is not None
            if not early:
                self._closers.append(close)
        if early:
            with suppress(OSError):
                close()
        try:
            yield
        finally:
            with self._lock, suppress(ValueError):
                self._closers.remove(close)

    def remaining(self) -> float:
        """Seconds until the deadline, never negative."""
        return max(0.0, self.deadline - time.monotonic())

    def check(self) -> None:
        """Raise CallCut when the call was ended or its deadline has passed."""
        if self.reason is None and self.remaining() == 0.0:
            self.cut(CutReason.DEADLINE)
        if self.reason is not None:
            raise CallCut(self.reason)

    def wait(self, seconds: float) -> None:
        """Sleep up to `seconds`, raising CallCut as soon as the call is ended."""
        self._event.wait(min(seconds, self.remaining()))
        self.check()
