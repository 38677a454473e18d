"""The sweep: what a lost message should have done is done, and a busy broker is not flooded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest
from dramatiq import Message
from dramatiq.errors import ConnectionClosed

from aijobs.actors.broker import WakingBroker
from aijobs.actors.relay import Relay
from aijobs.actors.sweep import Sweep
from aijobs.engine.settings import Settings
from aijobs.engine.stages import complete
from aijobs.models.lifecycle import cancel
from tests.integration.engine.seen import events, rows
from tests.world import World, settings_for, whole_database, world


class _Backlog:
    """A broker of which only its backlog is asked."""

    def __init__(self, waiting: int | None) -> None:
        self._waiting = waiting

    def enqueue_batch(self, messages: Sequence[Message[Any]]) -> None:
        raise AssertionError("the sweep sends nothing itself")

    def backlog(self) -> int:
        if self._waiting is None:
            raise ConnectionClosed("away")
        return self._waiting


def _stale(here: World, count: int) -> list[UUID]:
    """Jobs whose hints were lost some time ago."""
    jobs = [here.create().id for _ in range(count)]
    rows("UPDATE outbox_event SET status = 'published', published_at = now() - interval '1 hour'")
    rows("UPDATE ai_job SET dispatched_at = now() - interval '1 hour'")
    return jobs


def test_a_hint_that_redis_lost_is_sent_again(here: World, broker: WakingBroker) -> None:
    (job_id,) = _stale(here, 1)
    fresh = here.create().id
    assert Sweep(here.engine, broker).run_once() == 1
    assert events(job_id) == ["enqueue:job:1", "enqueue:job:2"]
    assert events(fresh) == ["enqueue:job:1"]
    assert here.job(job_id).dispatch_no == 2
    assert Sweep(here.engine, broker).run_once() == 0
    Relay(broker, "relay", batch=100, poll_seconds=1).run_once()
    assert broker.backlog() == 2


def test_an_end_that_was_never_completed_is_told_again(here: World, broker: WakingBroker) -> None:
    job = here.create()
    here.run(here.claim())
    rows("UPDATE outbox_event SET status = 'published', published_at = now() - interval '1 hour'")
    rows("ALTER TABLE ai_job DISABLE TRIGGER ai_job_guard")
    rows("UPDATE ai_job SET finished_at = finished_at - interval '1 hour'")
    rows("ALTER TABLE ai_job ENABLE TRIGGER ai_job_guard")
    assert Sweep(here.engine, broker).run_once() == 1
    (event,) = rows("SELECT event_type FROM outbox_event WHERE status = 'pending'")
    assert event == {"event_type": "ai.job.completed"}
    assert complete(job.id)
    rows("UPDATE outbox_event SET status = 'published', published_at = now() - interval '1 hour'")
    assert Sweep(here.engine, broker).run_once() == 0


def test_those_that_wait_for_a_job_that_did_not_succeed_are_rejected(
    here: World, broker: WakingBroker
) -> None:
    """Their parent's COMPLETE is lost for good: its event is gone, and it counts as completed."""
    parent = here.create()
    children = [here.create(after=[str(parent.id)]).id for _ in range(3)]
    cancel(parent.id, reason="r", actor="test")
    rows("UPDATE ai_job SET completed_at = now() WHERE id = %(id)s", id=parent.id)
    sweep = Sweep(here.engine, broker)
    assert sweep.run_once() == 3
    for child in children:
        job = here.job(child)
        assert (job.lifecycle_status, job.error_code) == ("failed", "DEPENDENCY_FAILED")
    assert sweep.run_once() == 0


@pytest.fixture
def small(database_url: str, redis_url: str) -> Any:
    """A world whose batches are of two."""
    settings: Settings = settings_for(database_url, redis_url, outbox_batch=2)
    with world(settings) as made:
        yield made


@pytest.mark.parametrize(("waiting", "sent"), [(0, 7), (2, 7), (3, 2), (1_000_000, 2), (None, 2)])
def test_a_broker_that_is_behind_gets_one_batch_at_most(
    small: World, waiting: int | None, sent: int
) -> None:
    _stale(small, 7)
    assert Sweep(small.engine, _Backlog(waiting)).run_once() == sent
    hints = rows("SELECT 1 FROM outbox_event WHERE dedupe_key LIKE '%%:2'")
    assert len(hints) == sent


def test_a_quiet_system_is_not_written_to(here: World, broker: WakingBroker) -> None:
    here.finish(here.create())
    here.create()
    before = whole_database()
    assert Sweep(here.engine, broker).run_once() == 0
    assert whole_database() == before
