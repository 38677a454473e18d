"""The heartbeat of a worker process: renews all its leases, learns of cancels and of leases lost.

Invariant: only attempts whose present stage is within its own deadline are renewed; the thread has
a connection of its own, so that a busy pool cannot starve it.
"""

from __future__ import annotations

import threading

import redis
import structlog

from aijobs.engine.attempt import Attempt
from aijobs.engine.bugs import frames_of
from aijobs.engine.cut import CutReason
from aijobs.engine.engine import Engine
from aijobs.models import database as db
from aijobs.models.errors import DatabaseAway
from aijobs.models.lifecycle import renew

_PRESENCE_SECONDS = 90
_PRESENCE_EVERY_SECONDS = 45.0

log = structlog.get_logger()


class Heartbeat:
    """Beats every `heartbeat_seconds`; an idle process costs no statement."""

    def __init__(self, engine: Engine, client: redis.Redis) -> None:
        self._engine = engine
        self._client = client
        self._stopping = threading.Event()

    def run(self) -> None:
        """Beat until stopped."""
        seconds = self._engine.settings.heartbeat_seconds
        since_presence = _PRESENCE_EVERY_SECONDS
        with db.reserved_connection():
            while not self._stopping.wait(seconds):
                self._beat()
                since_presence += seconds
                if since_presence >= _PRESENCE_EVERY_SECONDS:
                    since_presence = 0.0
                    self._show_presence()

    def stop(self) -> None:
        self._stopping.set()

    def run_once(self) -> None:
        """One beat. Raises DatabaseAway."""
        live = [attempt for attempt in self._engine.attempts.all() if attempt.is_live()]
        if not live:
            return
        renewal = renew([attempt.lease for attempt in live], self._engine.settings.lease_seconds)
        for attempt in live:
            self._tell(attempt, renewal.lost, renewal.cancel_requested)

    def _tell(
        self, attempt: Attempt, lost: frozenset[object], cancelled: frozenset[object]
    ) -> None:
        if attempt.lease.job_id in lost:
            attempt.cut.cut(CutReason.LEASE_LOST)
        elif attempt.lease.job_id in cancelled:
            attempt.cut.cut(CutReason.CANCELLED)

    def _beat(self) -> None:
        try:
            self.run_once()
        except DatabaseAway as error:
            log.warning("heartbeat_missed", detail=str(error))
        except Exception as error:
            log.error("heartbeat_failed", **frames_of(error))

    def _show_presence(self) -> None:
        try:
            key = f"worker:heartbeat:{self._engine.holder}"
            self._client.set(key, b"1", ex=_PRESENCE_SECONDS)
        except Exception as error:  # the next beat matters more
            log.debug("presence_not_shown", error=type(error).__name__)
