"""Cancelling a job whose call is under way: the provider's socket is closed, wherever it was.

Heartbeats are rarer here than a test waits: only the wake-up through Redis can be the cause.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID

import psutil
import pytest
import redis

from tests.acceptance.probed.scene import Scene, scene_of
from tests.acceptance.probed.verdict import check_calls, check_end
from tests.eventually import eventually
from tests.scripted_provider import ScriptedProvider, unaccepting_server

WAIT_SECONDS = 30
RARE = {"AIJOBS_LEASE_SECONDS": "600", "AIJOBS_HEARTBEAT_SECONDS": "120"}


@pytest.fixture
def scene(database_url: str, redis_url: str, tmp_path: Path) -> Iterator[Scene]:
    with scene_of(database_url, redis_url, tmp_path, **RARE) as made:
        yield made


@pytest.mark.parametrize(
    "knob",
    [
        "silence",
        "headers_then_silence",
        "keep_alive_blank_lines",
        "keep_alive_comments",
        "mid_stream_silence",
    ],
)
def test_the_provider_sees_its_socket_closed(scene: Scene, knob: str) -> None:
    scene.provider.enqueue(knob)
    job = scene.world.create()
    scene.worker(threads=1)
    eventually(lambda: scene.provider.calls, WAIT_SECONDS)
    assert _is_running(scene, job.id)

    answer = scene.api().cancel(job.id)

    assert answer.status_code == 202
    assert answer.json()["cancelRequested"] is True
    assert scene.provider.calls[0].peer_closed.wait(WAIT_SECONDS)
    scene.converges()
    ended = check_end(scene, job.id, "cancelled")
    assert ended["error_code"] == "JOB_CANCELLED"
    check_calls(scene, job.id, ["cut"])
    assert scene.rows("SELECT 1 FROM ai_job_result") == []
    _the_thread_is_free(scene)


def test_a_call_that_still_connects_is_given_up(scene: Scene) -> None:
    with unaccepting_server() as nowhere:
        job = scene.world.create()
        worker = scene.worker(threads=1, environ={"AIJOBS_PROVIDER_BASE_URL": nowhere})
        port = urlsplit(nowhere).port
        assert port is not None
        eventually(lambda: _connects(worker.pid, port), WAIT_SECONDS)

        assert scene.api().cancel(job.id).status_code == 202

        eventually(lambda: not _connects(worker.pid, port), WAIT_SECONDS)
        scene.converges()
    check_end(scene, job.id, "cancelled")
    check_calls(scene, job.id, ["cut"], unsent=1)
    with ScriptedProvider(port=port) as provider:
        _the_thread_is_free(scene)
        assert len(provider.calls) == 1


def test_cancelling_twice_asks_twice_and_cancels_once(scene: Scene) -> None:
    """The second answer is 202 again while it is under way, and 409 once it is over."""
    scene.provider.enqueue("silence")
    job = scene.world.create()
    scene.worker(threads=1)
    eventually(lambda: scene.provider.calls, WAIT_SECONDS)
    api = scene.api()
    assert api.cancel(job.id).status_code == 202
    assert api.cancel(job.id).status_code in (202, 409)
    scene.converges()
    last = api.cancel(job.id)
    assert (last.status_code, last.json()["code"]) == (409, "JOB_ALREADY_CANCELLED")
    check_end(scene, job.id, "cancelled")
    check_calls(scene, job.id, ["cut"])


def test_a_request_that_was_told_while_nobody_listened_is_found(scene: Scene) -> None:
    """The worker is paused while its subscription is cut, so that the message itself is lost."""
    scene.provider.enqueue("silence")
    job = scene.world.create()
    worker = scene.worker(threads=1)
    eventually(lambda: scene.provider.calls, WAIT_SECONDS)
    with redis.Redis.from_url(scene.environ["REDIS_URL"]) as client:
        eventually(lambda: client.pubsub_numsub("aijobs:cancel")[0][1] == 1, WAIT_SECONDS)
        worker.pause()
        client.client_kill_filter(_type="pubsub")
        eventually(lambda: client.pubsub_numsub("aijobs:cancel")[0][1] == 0, WAIT_SECONDS)
    assert scene.api().cancel(job.id).status_code == 202
    worker.wake()
    assert scene.provider.calls[0].peer_closed.wait(WAIT_SECONDS)
    scene.converges()
    check_end(scene, job.id, "cancelled")
    check_calls(scene, job.id, ["cut"])


def _is_running(scene: Scene, job_id: UUID) -> bool:
    return scene.world.job(job_id).lifecycle_status == "running"


def _connects(pid: int, port: int) -> bool:
    """Whether the process has a connection to this port that is not yet accepted."""
    found = psutil.Process(pid).net_connections(kind="tcp")
    return any(c.status == psutil.CONN_SYN_SENT and c.raddr.port == port for c in found)


def _the_thread_is_free(scene: Scene) -> None:
    """The worker has one thread: a second job can only succeed on that."""
    job = scene.world.create()
    scene.converges()
    check_end(scene, job.id, "succeeded")
