"""Requests counted in Redis for all API processes together, each in a moving window of a minute.

Invariant: a Redis that is away or slow refuses nobody. What cannot be counted passes, and is
warned of once a minute.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import redis
import structlog
from limits import RateLimitItem
from limits.storage import RedisStorage
from limits.strategies import MovingWindowRateLimiter

from aijobs.http.short_circuit import ShortCircuit, Spared

PAUSE_SECONDS = 5.0
_WARNING_SECONDS = 60.0
_FAULTS = (redis.RedisError, OSError)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Standing:
    """Where somebody stands after a request.

    `reset_seconds`, at least 1, is when the oldest of the counted requests leaves the window.
    """

    granted: bool
    remaining: int
    reset_seconds: int


class RequestCounts:
    """Counts over `client`, whose time-outs bound what a request may wait for it.

    `uncounted` says how many requests of this process passed without being counted; each calls
    `missed`.
    """

    def __init__(self, client: redis.Redis, missed: Callable[[], None] = lambda: None) -> None:
        pool = client.connection_pool
        storage = RedisStorage("redis://", connection_pool=pool, key_prefix="throttle")
        self._window = MovingWindowRateLimiter(storage)
        self._circuit = ShortCircuit(PAUSE_SECONDS)
        self._lock = threading.Lock()
        self._silent_until = 0.0
        self._tell_missed = missed
        self.uncounted = 0

    def take(self, limit: RateLimitItem, who: str) -> Standing | None:
        """Count a request of `who`, if it is granted; None when nobody can tell."""
        try:
            return self._circuit.ask(lambda: self._count(limit, who), _FAULTS)
        except Spared as spared:
            self._missed(str(spared))
        except _FAULTS as error:
            self._missed(type(error).__name__)
        return None

    def _count(self, limit: RateLimitItem, who: str) -> Standing:
        granted = self._window.hit(limit, who)
        reset_at, remaining = self._window.get_window_stats(limit, who)
        reset_seconds = max(1, math.ceil(reset_at - time.time()))
        return Standing(granted, max(0, remaining) if granted else 0, reset_seconds)

    def _missed(self, reason: str) -> None:
        self._tell_missed()
        with self._lock:
            self.uncounted += 1
            total, now = self.uncounted, time.monotonic()
            if now < self._silent_until:
                return
            self._silent_until = now + _WARNING_SECONDS
        log.warning("requests_not_counted", reason=reason, total=total)
