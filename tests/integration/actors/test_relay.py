"""The relay: every event leaves once it is due; no fault of one or of the broker stops the rest."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

import pytest
import redis
import structlog
from dramatiq.errors import ConnectionClosed

from aijobs.actors.broker import WakingBroker
from aijobs.actors.relay import Relay
from aijobs.models import database as db
from aijobs.models import outbox, probes
from aijobs.models.errors import DatabaseAway
from aijobs.models.lifecycle import cancel
from tests.eventually import eventually
from tests.integration.engine.seen import rows
from tests.world import World

WAIT_SECONDS = 30
NEVER = 3600.0


def _relay(broker: WakingBroker, name: str = "relay", **more: Any) -> Relay:
    return Relay(broker, name, **{"batch": 100, "poll_seconds": NEVER, **more})


def _sent(client: redis.Redis, queue: str = "ai-interactive") -> list[dict[str, Any]]:
    """The messages in a queue, in their order."""
    ids: Any = client.lrange(f"aijobs:{queue}", 0, -1)
    bodies: Any = [client.hget(f"aijobs:{queue}.msgs", message_id) for message_id in ids]
    return [json.loads(body) for body in bodies if body]


def _jobs(client: redis.Redis, queue: str = "ai-interactive") -> list[str]:
    return [message["kwargs"]["jobId"] for message in _sent(client, queue)]


def _events() -> list[dict[str, Any]]:
    return rows(
        "SELECT event_type, status, attempt_count, last_error, locked_by, published_at IS NOT NULL "
        "AS is_published FROM outbox_event ORDER BY id"
    )


def _insert(event_type: str, payload: Any, job_id: UUID | None = None) -> None:
    rows(
        "INSERT INTO outbox_event (event_type, aggregate_id, dedupe_key, payload) "
        "VALUES (%(type)s, %(job)s, %(key)s, %(payload)s::jsonb)",
        type=event_type,
        job=job_id or uuid4(),
        key=str(uuid4()),
        payload=json.dumps(payload),
    )


@contextmanager
def running(relay: Relay) -> Iterator[None]:
    """A relay in a thread of its own, until the end of the block."""
    thread = threading.Thread(target=relay.run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        relay.stop()
        thread.join(WAIT_SECONDS)
    assert not thread.is_alive()


def test_a_batch_leaves_best_rank_first_to_the_queue_of_its_job(
    here: World, broker: WakingBroker, client: redis.Redis
) -> None:
    low, plain, middle = (here.create(priority=priority).id for priority in (90, 50, 70))
    user = {"targetType": "user", "targetId": str(here.user_id)}
    analysis = here.create("learning_state_analysis", **user).id
    assert _relay(broker).run_once() == 4
    assert _jobs(client) == [str(plain), str(middle), str(low)]
    assert _jobs(client, "ai-background") == [str(analysis)]
    for message in _sent(client):
        assert (message["actor_name"], message["queue_name"]) == ("prepare", "ai-interactive")
        assert (message["args"], set(message["kwargs"])) == ([], {"jobId"})
    assert {(event["status"], event["is_published"]) for event in _events()} == {
        ("published", True)
    }
    assert _relay(broker).run_once() == 0


def test_ends_go_to_the_system_queue(
    here: World, broker: WakingBroker, client: redis.Redis
) -> None:
    done, gone = here.create(), here.create()
    here.run(here.claim())
    cancel(gone.id, reason="r", actor="test")
    _relay(broker).run_once()
    ends = [(m["actor_name"], m["kwargs"]["jobId"]) for m in _sent(client, "system")]
    assert ends == [("complete", str(done.id)), ("complete", str(gone.id))]


def test_a_batch_is_no_larger_than_it_may_be(
    here: World, broker: WakingBroker, client: redis.Redis
) -> None:
    jobs = [str(here.create().id) for _ in range(5)]
    relay = _relay(broker, batch=2)
    assert [relay.run_once() for _ in range(4)] == [2, 2, 1, 0]
    assert _jobs(client) == jobs


def test_what_is_not_due_yet_stays(here: World, broker: WakingBroker) -> None:
    here.create()
    rows("UPDATE outbox_event SET available_at = now() + interval '1 minute'")
    assert _relay(broker).run_once() == 0
    assert [event["status"] for event in _events()] == ["pending"]


def test_an_event_of_an_unknown_type_is_published_with_a_warning(
    here: World, broker: WakingBroker, client: redis.Redis
) -> None:
    _insert("ai.job.unheard_of", {"jobId": "x"})
    job = here.create()
    with structlog.testing.capture_logs() as logs:
        assert _relay(broker).run_once() == 2
    (told,) = [line for line in logs if line["event"] == "event_not_relayed"]
    assert (told["log_level"], told["event_type"]) == ("warning", "ai.job.unheard_of")
    assert {event["status"] for event in _events()} == {"published"}
    assert set(client.keys("aijobs:*")) == {
        b"aijobs:ai-interactive",
        b"aijobs:ai-interactive.msgs",
    }
    assert _jobs(client) == [str(job.id)]


#: Payloads that no message can be made of.
FAULTY: tuple[Any, ...] = (
    *({}, [], "text", None, 5, {"queueName": None}, {"queueName": "nowhere"}),
    *({"queueName": {"a": 1}}, {"queueName": "ai-interactive"}, {"queueName": "system"}),
    {"queueName": "x" * 100_000, "jobId": "x"},
)


def test_a_faulty_event_dies_with_its_third_fault_and_blocks_nobody(
    here: World, broker: WakingBroker, client: redis.Redis
) -> None:
    faulty = [here.create().id for _ in FAULTY]
    for job_id, payload in zip(faulty, FAULTY, strict=True):
        rows(
            "UPDATE outbox_event SET payload = %(payload)s::jsonb WHERE aggregate_id = %(id)s",
            payload=json.dumps(payload),
            id=job_id,
        )
    relay = _relay(broker)
    good = []
    for fault in (1, 2, 3):
        good.append(str(here.create().id))
        assert relay.run_once() == len(FAULTY) + 1
        assert _jobs(client) == good
        hints = [event for event in _events() if event["event_type"] == "ai.job.enqueue"]
        dead = [event for event in hints if event["status"] != "published"]
        assert [event["attempt_count"] for event in dead] == [fault] * len(FAULTY)
        assert {event["status"] for event in dead} == {"dead" if fault == 3 else "pending"}
        assert all(event["last_error"] and event["locked_by"] is None for event in dead)
    for job_id in faulty:
        job = here.job(job_id)
        assert (job.lifecycle_status, job.error_code) == ("failed", "DEAD_EVENT")
        assert job.public_error_message == "The job could not be dispatched."
        assert len((job.internal_error_message or "").encode()) <= 4096
        assert job.attempt_no == 0
    assert relay.run_once() == len(FAULTY), "their ends are told like any other"
    assert relay.run_once() == 0


def test_a_dead_event_of_a_job_that_has_moved_on_is_moot(
    here: World, broker: WakingBroker, client: redis.Redis
) -> None:
    running_job = here.create()
    here.claim()
    ended = here.create()
    cancel(ended.id, reason="r", actor="test")
    rows("UPDATE outbox_event SET status = 'published'")
    for job_id in (running_job.id, ended.id, uuid4()):
        _insert("ai.job.enqueue", {}, job_id)
    relay = _relay(broker)
    for _ in range(3):
        relay.run_once()
    assert [event["status"] for event in _events()][-3:] == ["dead"] * 3
    assert here.job(running_job.id).lifecycle_status == "running"
    assert here.job(ended.id).lifecycle_status == "cancelled"


@contextmanager
def away(broker: WakingBroker) -> Iterator[None]:
    """The broker is away during the block."""
    kept = broker.client
    with redis.Redis.from_url("redis://127.0.0.1:1/0", retry=None) as nowhere:
        broker.client = nowhere
        try:
            yield
        finally:
            broker.client = kept


def test_an_outage_of_the_broker_counts_against_nothing(
    here: World, broker: WakingBroker, client: redis.Redis
) -> None:
    job = here.create()
    relay = _relay(broker)
    with away(broker):
        for _ in range(10):
            with pytest.raises(ConnectionClosed):
                relay.run_once()
    (event,) = _events()
    assert (event["status"], event["attempt_count"], event["locked_by"]) == ("pending", 0, None)
    assert "ConnectionClosed" in event["last_error"]
    assert here.job(job.id).lifecycle_status == "queued"
    assert relay.run_once() == 1
    assert _jobs(client) == [str(job.id)]


def test_a_faulty_event_counts_also_while_the_broker_is_away(
    here: World, broker: WakingBroker
) -> None:
    here.create()
    _insert("ai.job.enqueue", {})
    with away(broker), pytest.raises(ConnectionClosed):
        _relay(broker).run_once()
    assert [(e["status"], e["attempt_count"]) for e in _events()] == [
        ("pending", 0),
        ("pending", 1),
    ]


def test_a_running_relay_waits_out_the_broker_and_goes_on_by_itself(
    here: World, broker: WakingBroker, client: redis.Redis
) -> None:
    relay = _relay(broker, poll_seconds=0.02)
    with structlog.testing.capture_logs() as logs, running(relay):
        with away(broker):
            job = here.create()
            eventually(lambda: len(_waits(logs)) >= 2, WAIT_SECONDS)
        eventually(lambda: _jobs(client) == [str(job.id)], WAIT_SECONDS)
    failures = [line["failures"] for line in _waits(logs)]
    assert failures == list(range(1, len(failures) + 1))
    assert all(line["log_level"] == "warning" for line in _waits(logs))


def _waits(logs: Any) -> list[dict[str, Any]]:
    return [line for line in logs if line["event"] == "relay_waits"]


def test_a_hint_is_heard_at_once_and_stands_for_many_events(
    here: World, broker: WakingBroker, client: redis.Redis
) -> None:
    """It would look for itself after an hour: only the hint can be the cause."""
    relay = _relay(broker, batch=2)
    looks = threading.Semaphore(0)
    probes.install(lambda point: looks.release() if point == "relay_claim.after_commit" else None)
    try:
        with running(relay):
            assert looks.acquire(timeout=WAIT_SECONDS), "its first look, which finds nothing"
            jobs = [str(here.create().id) for _ in range(5)]
            relay.hint()
            eventually(lambda: _jobs(client) == jobs, WAIT_SECONDS)
    finally:
        probes.install(None)


def test_what_comes_right_after_a_batch_leaves_as_one_batch(
    here: World, broker: WakingBroker, client: redis.Redis
) -> None:
    """Three jobs come, each with its hint, while the relay gathers after its first batch."""
    relay, published = _relay(broker), []
    jobs = [str(here.create().id)]

    class Gathering(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            if len(jobs) == 1:
                for _ in range(3):
                    jobs.append(str(here.create().id))
                    relay.hint()
            return self.is_set()

    relay._stopped = Gathering()
    probes.install(
        lambda point: published.append(point) if point == "relay_publish.after_commit" else None
    )
    try:
        with running(relay):
            eventually(lambda: len(published) > 1, WAIT_SECONDS)
    finally:
        probes.install(None)
    assert (_jobs(client), len(published)) == (jobs, 2)


def test_a_lost_hint_costs_a_poll(here: World, broker: WakingBroker, client: redis.Redis) -> None:
    with running(_relay(broker, poll_seconds=0.05)):
        job = here.create()
        eventually(lambda: _jobs(client) == [str(job.id)], WAIT_SECONDS)


def test_two_relays_side_by_side_send_each_event_once(
    here: World, broker: WakingBroker, client: redis.Redis
) -> None:
    jobs = Counter(str(here.create().id) for _ in range(60))
    relays = [_relay(broker, f"relay-{number}", batch=3, poll_seconds=0.02) for number in range(2)]
    with running(relays[0]), running(relays[1]):
        eventually(lambda: len(_jobs(client)) >= 60, WAIT_SECONDS)
        eventually(lambda: {e["status"] for e in _events()} == {"published"}, WAIT_SECONDS)
    assert Counter(_jobs(client)) == jobs


def test_a_crash_between_send_and_publish_sends_again(
    here: World, broker: WakingBroker, client: redis.Redis
) -> None:
    class Killed(BaseException): ...

    def die(point: str) -> None:
        if point == "relay_publish.before_commit":
            raise Killed

    job = here.create()
    probes.install(die)
    try:
        with pytest.raises(Killed):
            _relay(broker, "dead").run_once()
    finally:
        probes.install(None)
    assert [event["status"] for event in _events()] == ["processing"]
    other = _relay(broker, "alive")
    assert other.run_once() == 0
    rows("UPDATE outbox_event SET locked_at = locked_at - interval '1 minute'")
    assert db.autocommit("relay_release", lambda: outbox.release_stale(60)) == 1
    assert other.run_once() == 1
    assert _jobs(client) == [str(job.id)] * 2
    here.run(here.claim())
    assert here.job(job.id).lifecycle_status == "succeeded"


def test_a_relay_without_a_database_waits(here: World, broker: WakingBroker) -> None:
    here.create()
    db.connect_to("postgresql://nobody@127.0.0.1:1/nothing", connections=2)
    with pytest.raises(DatabaseAway):
        _relay(broker).run_once()
    with structlog.testing.capture_logs() as logs, running(_relay(broker, poll_seconds=0.02)):
        eventually(lambda: len(_waits(logs)) >= 2, WAIT_SECONDS)


def test_a_bug_of_the_relay_is_told_and_it_goes_on(
    here: World, broker: WakingBroker, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    relay = _relay(broker, poll_seconds=0.02)
    send = broker.enqueue_batch
    bugs = iter([ZeroDivisionError("a bug")])

    def broken(messages: Any) -> None:
        for bug in bugs:
            raise bug
        send(messages)

    monkeypatch.setattr(broker, "enqueue_batch", broken)
    with structlog.testing.capture_logs() as logs, running(relay):
        first = here.create()
        eventually(lambda: [x for x in logs if x["event"] == "relay_failed"], WAIT_SECONDS)
        second = here.create()
        eventually(lambda: _jobs(client) == [str(first.id), str(second.id)], WAIT_SECONDS)
    assert [(event["status"], event["attempt_count"]) for event in _events()] == [
        ("published", 0)
    ] * 2
