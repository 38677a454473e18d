"""Jobs on RabbitMQ: pushed to their workers, outliving a kill, garbage, and a broker that is away.

The messages are RabbitMQ's; wake-ups of the relay stay with Redis.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
import redis
from dramatiq import Message
from dramatiq.common import dq_name, xq_name

from aijobs.actors.queues import SYSTEM, TOPICS
from aijobs.engine.signals import OUTBOX_CHANNEL, Signals
from aijobs.http.embedded.records import Records
from tests.acceptance.fleet import Fleet
from tests.acceptance.probed import plays
from tests.acceptance.probed.cases import CASES, Case
from tests.acceptance.probed.child import Child
from tests.acceptance.probed.scene import Scene, scene_of
from tests.acceptance.probed.verdict import check_calls, check_end
from tests.eventually import eventually
from tests.garbage import garbage
from tests.rabbitmq import Rabbit
from tests.world import POINTS

QUEUE = TOPICS[0]
DELAYED = dq_name(SYSTEM)
WAIT_SECONDS = 60

#: Nothing that repairs and nothing that polls runs while a test of wake-ups does.
SLOW = {
    "AIJOBS_OUTBOX_POLL_SECONDS": "60",
    "AIJOBS_REAPER_INTERVAL_SECONDS": "600",
    "AIJOBS_REDISPATCH_SECONDS": "600",
}
CRASHES = ("relay_message", "relay_publish", "claim", "call_started", "project", "complete")


@pytest.fixture(autouse=True)
def _cleared(rabbit: Rabbit) -> None:
    rabbit.clear()


@pytest.fixture
def scene(
    database_url: str, redis_url: str, tmp_path: Path, rabbit: Rabbit, _cleared: None
) -> Iterator[Scene]:
    with scene_of(database_url, redis_url, tmp_path, AMQP_URL=rabbit.url) as made:
        yield made


def _crashes() -> list[Case]:
    on_the_way = [
        case
        for case in CASES
        if case.play is plays.run and case.since is None and case.point.split(".")[0] in CRASHES
    ]
    assert len(on_the_way) == 2 * len(CRASHES)
    return on_the_way + [case for case in CASES if case.play is plays.relay_without_a_broker]


@pytest.mark.parametrize("case", _crashes(), ids=str)
def test_a_job_survives_a_kill_at(case: Case, scene: Scene) -> None:
    job_id = case.play(scene, case.orders)
    scene.children[-1].kill()  # nobody works on while the end is looked at
    check_end(scene, job_id, case.end)
    check_calls(scene, job_id, case.calls, unsent=case.unsent)


def test_a_job_is_pushed_to_its_worker(scene: Scene, rabbit: Rabbit) -> None:
    """A poll a minute can help one of three jobs that take less than a minute together."""
    worker = scene.worker(SLOW, poll_milliseconds=1_000 * WAIT_SECONDS)
    eventually(lambda: rabbit.listeners(QUEUE) and rabbit.listeners(SYSTEM), WAIT_SECONDS)
    with redis.Redis.from_url(scene.environ["REDIS_URL"]) as client:
        eventually(lambda: dict(client.pubsub_numsub(OUTBOX_CHANNEL)) != {OUTBOX_CHANNEL: 0}, 60)
    for _ in range(3):
        job = scene.world.create()
        Signals.connect(scene.environ["REDIS_URL"]).hint_outbox()
        _succeeded(scene, [job.id], WAIT_SECONDS / 3)
    sent = scene.rows("SELECT dispatch_no FROM ai_job")
    assert sent == [sent[0]] * 3, "a hint was sent again"
    assert "pass_worked" not in worker.said
    told = [body for _, body in POINTS if body in worker.said]
    assert told == [], "a log tells no material, not even at debug"


def test_garbage_is_rejected_once_and_nothing_waits_behind_it(scene: Scene, rabbit: Rabbit) -> None:
    worker = scene.worker()
    _succeeded(scene, [scene.world.create().id])  # and so every queue is there
    put = {place: garbage(place) for place in (QUEUE, SYSTEM, DELAYED)}
    dropped = sum(len(bodies) for bodies in put.values())
    put[QUEUE].append(Message(QUEUE, "nobody", (), {}, {}).encode())
    for place, bodies in put.items():
        for body in bodies:
            rabbit.publish(place, body)
    _succeeded(scene, [scene.world.create().id for _ in range(3)])
    dead = (xq_name(QUEUE), xq_name(SYSTEM))
    eventually(lambda: sum(map(rabbit.waiting, dead)) == dropped + 1, WAIT_SECONDS)
    worker.kill()  # what it held would come back
    assert [rabbit.waiting(place) for place in put] == [0, 0, 0]
    assert rabbit.dead_letters(QUEUE) | rabbit.dead_letters(SYSTEM) == put
    assert worker.said.count("Dropped a message that is none") == dropped
    for sign in ("Restarting consumer", "Exception in thread", "unexpected error"):
        assert sign not in worker.said


def test_messages_that_are_lost_are_sent_again(scene: Scene, rabbit: Rabbit) -> None:
    """The relay has sent them, nobody has received them, and the queues are deleted."""
    jobs = [scene.world.create().id for _ in range(20)]
    relay = scene.worker(queues=(SYSTEM,))
    eventually(lambda: rabbit.waiting(QUEUE) == len(jobs), WAIT_SECONDS)
    relay.kill()
    for place in (QUEUE, SYSTEM, DELAYED):
        rabbit.delete(place)
    scene.half_a_day_passes()
    scene.worker()
    _succeeded(scene, jobs)
    assert len(scene.provider.calls) == len(jobs)


def test_the_finer_steps_of_maintenance_are_delayed_messages(
    scene: Scene, rabbit: Rabbit, run_records: Records
) -> None:
    """The scheduler sends one message a minute, and one when it starts; the worker makes the rest.
    Those that a worker held when it died are the next one's.
    """
    interval = {"AIJOBS_REAPER_INTERVAL_SECONDS": "1"}
    first = scene.worker(interval, queues=(SYSTEM,))
    scheduler = Fleet(scene.folder / "fleet", {**scene.environ, **interval}, run_records)
    try:
        scheduler.start_alone("scheduler")
        eventually(lambda: _rounds(first) >= 3, WAIT_SECONDS)
    finally:
        scheduler.stop()
    first.kill()
    assert rabbit.waiting(DELAYED) > 3
    second = scene.worker(interval, queues=(SYSTEM,))
    eventually(lambda: _rounds(second) >= 3, WAIT_SECONDS)
    assert rabbit.waiting(DELAYED) == 0, "it holds the rest until their times"


@pytest.mark.parametrize("host", ["127.0.0.1:1", "broker.invalid"])
def test_a_scheduler_outlives_reminders_that_nobody_takes(
    scene: Scene, run_records: Records, host: str
) -> None:
    environ = {**scene.environ, "AMQP_URL": f"amqp://guest:guest@{host}/"}
    fleet = Fleet(scene.folder / "fleet", environ, run_records)
    try:
        fleet.start_alone("scheduler")
        started = fleet.processes()
        eventually(lambda: "reminder_lost" in fleet.logs()["scheduler"], WAIT_SECONDS)
        assert fleet.processes() == started
    finally:
        fleet.stop()
    assert "Traceback" not in fleet.logs()["scheduler"]


def _succeeded(scene: Scene, jobs: list[UUID], seconds: float = WAIT_SECONDS) -> None:
    """Wait until all have, with everything that belongs to an end."""
    ended = (
        "SELECT lifecycle_status AS status, "
        "(SELECT count(*) FROM notification WHERE job_id = job.id) AS told "
        "FROM ai_job job WHERE completed_at IS NOT NULL AND id = ANY (%(jobs)s)"
    )
    eventually(lambda: len(scene.rows(ended, jobs=jobs)) == len(jobs), seconds)
    assert scene.rows(ended, jobs=jobs) == [{"status": "succeeded", "told": 1}] * len(jobs)


def _rounds(worker: Child) -> int:
    return worker.said.count("Received message maintain(")
