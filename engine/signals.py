"""Wake-ups through Redis: hints that save waiting and carry no authority.

Invariant: losing any of them costs time and nothing else, so no failure here is an error of the
caller.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from uuid import UUID

import redis
import structlog

from aijobs.models.probes import sending

OUTBOX_CHANNEL = "aijobs:outbox"
CANCEL_CHANNEL = "aijobs:cancel"
_CANCEL_SECONDS = 300
_TIMEOUT_SECONDS = 1.0
_RECONNECT_SECONDS = 1.0

log = structlog.get_logger()


class Signals:
    """Sends hints. Redis holds ids only."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    @classmethod
    def connect(cls, url: str) -> Signals:
        """Nothing is connected until the first hint."""
        return cls(
            redis.Redis.from_url(
                url,
                socket_timeout=_TIMEOUT_SECONDS,
                socket_connect_timeout=_TIMEOUT_SECONDS,
                retry=None,
            )
        )

    def hint_outbox(self) -> None:
        """Tell the relays that events wait."""
        with sending("relay_hint"):
            self._attempt(lambda: self._client.publish(OUTBOX_CHANNEL, b"1"))

    def hint_cancel(self, job_id: UUID) -> None:
        """Tell the holder of a job, whoever it is, that a cancel is requested."""

        def send() -> None:
            self._client.set(_cancel_key(job_id), b"1", ex=_CANCEL_SECONDS)
            self._client.publish(CANCEL_CHANNEL, str(job_id))

        with sending("cancel_hint"):
            self._attempt(send)

    def _attempt(self, send: Callable[[], object]) -> None:
        try:
            send()
        except redis.RedisError as error:
            log.warning("hint_lost", error=type(error).__name__)


def cancels_among(client: redis.Redis, job_ids: list[UUID]) -> list[UUID]:
    """Those jobs whose cancel was requested lately, for who may have missed it.

    Raises RedisError.
    """
    found: Any = client.mget(map(_cancel_key, job_ids)) if job_ids else []
    return [job_id for job_id, is_set in zip(job_ids, found, strict=True) if is_set]


def _cancel_key(job_id: UUID) -> str:
    return f"job:cancel:{job_id}"


class Listener:
    """A thread that hears one or more channels and calls `heard(channel, data)`.

    After every (re)connection it calls `connected()`, since hints may have been missed. It survives
    any outage of Redis.
    """

    def __init__(
        self,
        client: redis.Redis,
        channels: list[str],
        heard: Callable[[str, bytes], None],
        connected: Callable[[], None],
    ) -> None:
        self._client = client
        self._channels = channels
        self._heard = heard
        self._connected = connected
        self._stopping = threading.Event()

    def stop(self) -> None:
        """Ask `run` to end; it does within a second."""
        self._stopping.set()

    def run(self) -> None:
        """Listen until stopped."""
        while not self._stopping.is_set():
            try:
                self._listen()
            except Exception as error:  # whatever it is, a deaf process would be worse
                if not self._stopping.wait(_RECONNECT_SECONDS):
                    log.debug("listener_reconnects", error=type(error).__name__)

    def _listen(self) -> None:
        with self._client.pubsub(ignore_subscribe_messages=True) as subscription:
            subscription.subscribe(*self._channels)
            self._connected()
            while not self._stopping.is_set():
                message = subscription.get_message(timeout=1.0)
                if message is not None and message["type"] == "message":
                    self._heard(message["channel"].decode(), message["data"])
