"""A worker that is stopped: by SIGSTOP past its lease, and by SIGTERM in the middle of a call."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tests.acceptance.probed.child import Child
from tests.acceptance.probed.scene import Scene, scene_of
from tests.acceptance.probed.verdict import check_calls, check_end
from tests.eventually import eventually
from tests.scripted_provider import Exchange
from tests.scripted_provider.knobs import ok
from tests.world import whole_database

WAIT_SECONDS = 60
#: The ledger's shared rows.
USAGE = ("user_ai_usage_daily", "user_ai_usage_monthly", "platform_usage_daily")

#: Leases that lapse while a test waits. The worker that is stopped renews no more.
SHORT = {
    "AIJOBS_LEASE_SECONDS": "1.5",
    "AIJOBS_LEASE_GRACE_SECONDS": "0.3",
    "AIJOBS_HEARTBEAT_SECONDS": "0.3",
}


@pytest.fixture
def scene(database_url: str, redis_url: str, tmp_path: Path) -> Iterator[Scene]:
    with scene_of(database_url, redis_url, tmp_path) as made:
        yield made


@pytest.fixture
def answered_late(scene: Scene) -> Iterator[threading.Event]:
    """The first call waits for this event, and then gets a good answer."""
    event = threading.Event()
    scene.provider.enqueue(_after(event))
    yield event
    event.set()


def _after(event: threading.Event) -> Callable[[Exchange], None]:
    def answer(exchange: Exchange) -> None:
        event.wait()
        ok(exchange)

    return answer


def test_a_worker_that_wakes_after_the_job_has_ended_changes_its_own_usage_row_alone(
    scene: Scene, answered_late: threading.Event
) -> None:
    job = scene.world.create()
    feeder, sleeper = _stop_in_its_call(scene)
    other = scene.worker(queues=("ai-interactive",), environ=SHORT)
    scene.converges()
    for child in (other, feeder):
        child.kill()

    _wakes_to_nothing(scene, sleeper, answered_late, booked=("ai_job_reservation", *USAGE))

    check_end(scene, job.id, "succeeded")
    own, _ = _calls(scene)
    assert own["raw_response"] is None, "the job has ended: its raw answers are dropped"
    assert len(scene.provider.calls) == 2


def test_a_worker_that_wakes_during_the_next_attempt_changes_its_own_usage_row_alone(
    scene: Scene, answered_late: threading.Event
) -> None:
    job = scene.world.create()
    feeder, sleeper = _stop_in_its_call(scene)
    scene.provider.enqueue(_after(answered_late))
    other = scene.worker(queues=("ai-interactive",), environ={"AIJOBS_HEARTBEAT_SECONDS": "20"})

    def asks_too() -> bool:
        scene.hurry()
        return len(scene.provider.calls) == 2

    eventually(asks_too, WAIT_SECONDS)
    feeder.kill()
    _pause(scene, other)  # so that nobody writes but the one that wakes

    _wakes_to_nothing(scene, sleeper, answered_late)

    other.wake()
    scene.worker(queues=("system",))
    scene.converges()
    check_end(scene, job.id, "succeeded")
    assert len(scene.provider.calls) == 2


def _stop_in_its_call(scene: Scene) -> tuple[Child, Child]:
    """A worker of the system, and one that is stopped in the middle of its provider call."""
    feeder = scene.worker(queues=("system",), environ=SHORT)
    sleeper = scene.worker(queues=("ai-interactive",), environ=SHORT)
    eventually(lambda: scene.provider.calls, WAIT_SECONDS)
    _pause(scene, sleeper)
    return feeder, sleeper


def _pause(scene: Scene, child: Child) -> None:
    """Stop a process while it holds no lock: in a transaction it would keep all others waiting."""
    busy = (
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
        "AND state <> 'idle' AND pid <> pg_backend_pid()"
    )

    def is_paused() -> bool:
        child.pause()
        if scene.rows(busy):
            child.wake()
            return False
        return True

    eventually(is_paused, WAIT_SECONDS)


def _wakes_to_nothing(
    scene: Scene, sleeper: Child, answered: threading.Event, booked: tuple[str, ...] = ()
) -> None:
    """Its answer is there when it wakes: it notes what that cost, and nothing else. Where its job
    is settled, the ledger books the difference (`booked`)."""
    before, [open_call, *_] = whole_database(), _calls(scene)
    assert open_call["state"] == "unknown"
    answered.set()
    assert scene.provider.calls[0].ended.wait(WAIT_SECONDS)
    sleeper.wake()
    eventually(lambda: "lease_lost" in sleeper.said, WAIT_SECONDS)
    sleeper.stops()

    after, [own, *_] = whole_database(), _calls(scene)
    changed = {name for name in before if before[name] != after[name]}
    assert changed - set(booked) == {"ai_usage_log"}
    assert len(set(before["ai_usage_log"]) - set(after["ai_usage_log"])) == 1
    assert len(before["ai_usage_log"]) == len(after["ai_usage_log"])
    assert own["state"] in ("completed", "cut")  # read before the heartbeat noticed, or after
    frozen = ("id", "attempt_no", "call_no", "call_id", "request_hash", "user_id", "started_at")
    assert [own[name] for name in frozen] == [open_call[name] for name in frozen]
    assert "Traceback" not in sleeper.said


def test_a_worker_that_wakes_before_the_takeover_goes_on(
    scene: Scene, answered_late: threading.Event
) -> None:
    job = scene.world.create()
    sleeper = scene.worker()
    eventually(lambda: scene.provider.calls, WAIT_SECONDS)
    sleeper.pause()
    answered_late.set()
    scene.provider.calls[0].ended.wait(WAIT_SECONDS)
    sleeper.wake()
    scene.converges()
    assert check_end(scene, job.id, "succeeded")["attempt_no"] == 1
    check_calls(scene, job.id, ["completed"])


def test_sigterm_during_a_call_hands_the_job_back_and_counts_nothing(scene: Scene) -> None:
    """The command line's own processes: the signal goes to the master, as from an init system."""
    job = scene.world.create()
    scene.provider.enqueue("silence")
    feeder = scene.worker(queues=("system",))
    command = "dramatiq aijobs.actors.worker:broker -Q ai-interactive --processes 1 --threads 1"
    with subprocess.Popen(
        [sys.executable, "-m", *command.split()],
        env={**scene.environ, "AIJOBS_SHUTDOWN_SECONDS": "0.2"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as worker:
        try:
            eventually(lambda: scene.provider.calls, WAIT_SECONDS)
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(WAIT_SECONDS) == 0
        finally:
            worker.kill()
    assert scene.provider.calls[0].peer_closed.wait(WAIT_SECONDS)
    [now] = scene.rows("SELECT * FROM ai_job")
    assert (now["lifecycle_status"], now["retry_count"]) == ("queued", 0)
    assert (now["hand_back_count"], now["crash_count"]) == (1, 0)
    assert _causes(scene, job.id)[-1] == "hand_back:shutdown"

    feeder.kill()
    scene.worker()
    scene.converges()
    done = check_end(scene, job.id, "succeeded")
    assert (done["attempt_no"], done["retry_count"]) == (2, 0)
    check_calls(scene, job.id, ["cut", "completed"])


def test_a_sixth_shutdown_counts_a_retry(scene: Scene) -> None:
    job = scene.world.create()
    scene.execute("UPDATE ai_job SET hand_back_count = 5")
    scene.provider.enqueue("silence")
    worker = scene.worker(environ={"AIJOBS_SHUTDOWN_SECONDS": "0.2"})
    eventually(lambda: scene.provider.calls, WAIT_SECONDS)
    worker.stops()
    [now] = scene.rows("SELECT * FROM ai_job")
    assert (now["lifecycle_status"], now["retry_count"]) == ("queued", 1)
    assert now["hand_back_count"] == 5
    assert _causes(scene, job.id)[-1] == "release_for_retry"

    scene.worker()
    scene.converges()
    check_end(scene, job.id, "succeeded")
    check_calls(scene, job.id, ["cut", "completed"])


def test_a_call_that_ends_within_the_time_of_the_stop_is_kept(
    scene: Scene, answered_late: threading.Event
) -> None:
    job = scene.world.create()
    feeder = scene.worker(queues=("system",))
    worker = scene.worker(queues=("ai-interactive",))  # its stop waits 30 s, the default
    eventually(lambda: scene.provider.calls, WAIT_SECONDS)
    stop = threading.Thread(target=worker.stops, daemon=True)
    stop.start()
    eventually(lambda: worker.said.count("Stopping worker thread") == 2, WAIT_SECONDS)
    later = scene.world.create()
    answered_late.set()
    stop.join(WAIT_SECONDS)
    assert scene.world.job(job.id).lifecycle_status == "succeeded"
    assert scene.world.job(later.id).lifecycle_status == "queued", (
        "a stopping worker claims nothing"
    )
    feeder.kill()


def _calls(scene: Scene) -> list[dict[str, Any]]:
    return scene.rows("SELECT * FROM ai_usage_log ORDER BY call_no")


def _causes(scene: Scene, job_id: UUID) -> list[str]:
    found = scene.rows(
        "SELECT cause FROM job_transition WHERE job_id = %(id)s ORDER BY id", id=job_id
    )
    return [step["cause"] for step in found]
