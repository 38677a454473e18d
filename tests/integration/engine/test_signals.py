"""Wake-ups through Redis: heard at once, lost without harm, and caught up with after an outage."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest
import redis
import structlog

from aijobs.engine.attempt import Attempt, Attempts
from aijobs.engine.cut import CutReason
from aijobs.engine.signals import (
    CANCEL_CHANNEL,
    OUTBOX_CHANNEL,
    Listener,
    Signals,
    cancels_among,
)
from aijobs.engine.wakeups import catch_up_on_cancels
from aijobs.models.tables import AiJob
from tests.eventually import eventually

WAIT_SECONDS = 30


@pytest.fixture
def client(redis_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_url) as made:
        yield made


class _Ear:
    """Notes what a listener hears and how often it has connected."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, bytes]] = []
        self.connections = 0

    def hears(self, channel: str, data: bytes) -> None:
        self.heard.append((channel, data))

    def connected(self) -> None:
        self.connections += 1


@contextmanager
def listening(url: str) -> Iterator[_Ear]:
    ear = _Ear()
    with redis.Redis.from_url(url) as client:
        channels = [OUTBOX_CHANNEL, CANCEL_CHANNEL]
        listener = Listener(client, channels, ear.hears, ear.connected)
        thread = threading.Thread(target=listener.run, daemon=True)
        thread.start()
        try:
            yield ear
        finally:
            listener.stop()
            thread.join(WAIT_SECONDS)
    assert not thread.is_alive()


def _attempt() -> Attempt:
    job = AiJob(id=uuid4(), attempt_no=1, timeout_seconds=120, call_count=0)
    return Attempt(job, "host:1:x")


def test_hints_are_heard_with_ids_alone(redis_url: str, client: redis.Redis) -> None:
    job_id = uuid4()
    signals = Signals.connect(redis_url)
    with listening(redis_url) as ear:
        eventually(lambda: ear.connections == 1, WAIT_SECONDS)
        signals.hint_outbox()
        signals.hint_cancel(job_id)
        eventually(lambda: len(ear.heard) == 2, WAIT_SECONDS)
    assert ear.heard == [(OUTBOX_CHANNEL, b"1"), (CANCEL_CHANNEL, str(job_id).encode())]
    assert client.keys("*") == [f"job:cancel:{job_id}".encode()]
    assert 290 < client.ttl(f"job:cancel:{job_id}") <= 300


def test_a_listener_whose_connection_is_cut_connects_again(
    redis_url: str, client: redis.Redis
) -> None:
    with listening(redis_url) as ear:
        eventually(lambda: ear.connections == 1, WAIT_SECONDS)
        client.client_kill_filter(_type="pubsub")
        eventually(lambda: ear.connections == 2, WAIT_SECONDS)
        eventually(lambda: client.publish(OUTBOX_CHANNEL, b"1") == 1, WAIT_SECONDS)
        eventually(lambda: ear.heard == [(OUTBOX_CHANNEL, b"1")], WAIT_SECONDS)


def test_a_listener_without_redis_goes_on_trying_until_it_is_stopped() -> None:
    with listening("redis://127.0.0.1:1/0") as ear:
        pass
    assert ear.connections == 0


def test_a_hint_that_cannot_be_sent_is_a_warning_and_nothing_else() -> None:
    signals = Signals.connect("redis://127.0.0.1:1/0")
    with structlog.testing.capture_logs() as logs:
        signals.hint_outbox()
        signals.hint_cancel(uuid4())
    assert [(line["event"], line["log_level"]) for line in logs] == [("hint_lost", "warning")] * 2


def test_cancels_that_nobody_heard_are_caught_up_with(redis_url: str, client: redis.Redis) -> None:
    attempts, asked, other = Attempts(), _attempt(), _attempt()
    catch_up_on_cancels(attempts, client)
    for attempt in (asked, other):
        attempts.add(attempt)
    Signals.connect(redis_url).hint_cancel(asked.job.id)
    Signals.connect(redis_url).hint_cancel(uuid4())
    assert cancels_among(client, [other.job.id, asked.job.id]) == [asked.job.id]
    catch_up_on_cancels(attempts, client)
    assert (asked.cut.reason, other.cut.reason) == (CutReason.CANCELLED, None)
