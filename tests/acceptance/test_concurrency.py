"""Many jobs at once: 64 calls in flight in one process, and a backlog that outlasts many leases."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import psycopg2
import pytest

from aijobs.engine.job_types import BUILTIN
from aijobs.engine.registry import Registry
from tests.acceptance.probed.scene import Scene, scene_of
from tests.eventually import eventually
from tests.scripted_provider import Exchange
from tests.scripted_provider.knobs import ok
from tests.world import World

CALLS = 64
CALL_SECONDS = 2.0
MOST_CONNECTIONS = 8
#: A transaction that a call keeps open gets older than this; a heartbeat's does not.
HELD_SECONDS = 1.0
WAIT_SECONDS = 120

WORKERS, THREADS = 2, 4
URGENT, LOW = 0, 100
#: Renewed every 0.75 s.
BRIEF = {"AIJOBS_LEASE_SECONDS": "3", "AIJOBS_LEASE_GRACE_SECONDS": "0"}


@pytest.fixture
def scene(database_url: str, redis_url: str, tmp_path: Path) -> Iterator[Scene]:
    with scene_of(database_url, redis_url, tmp_path, AIJOBS_LOG_LEVEL="warning") as made:
        yield made


@pytest.fixture
def own_role(scene: Scene, postgres_url: str) -> Iterator[str]:
    """A database role for one worker alone: by that its connections are told from all others."""
    name = f"worker_{uuid4().hex[:12]}"
    scene.execute(f"CREATE ROLE {name} SUPERUSER LOGIN PASSWORD 'of-the-tests'")
    yield name
    scene.clear_away()
    scene.execute(f"DROP ROLE {name}")


def test_64_calls_at_once_need_8_connections_and_no_transaction(
    scene: Scene, own_role: str
) -> None:
    everybody = threading.Event()

    def answer(exchange: Exchange) -> None:
        if len(scene.provider.calls) == CALLS:
            everybody.set()
        while not everybody.is_set():
            exchange.pause(0.05)
        exchange.pause(CALL_SECONDS)
        ok(exchange)

    scene.provider.script(answer)
    for _ in range(CALLS):
        scene.world.create()
    url = _as_role(scene.environ["DATABASE_URL"], own_role)
    with _sampling(scene, own_role) as samples:
        scene.worker(queues=("system",))
        scene.worker(queues=("ai-interactive",), threads=CALLS, environ={"DATABASE_URL": url})
        assert everybody.wait(WAIT_SECONDS)
        samples.mark()
        eventually(lambda: any(call.outcome == "answered" for call in scene.provider.calls), 60)
        during = samples.since_mark()
        _all_succeed(scene, CALLS)
    assert len(during) > 10
    assert max(held for held, _ in during) < HELD_SECONDS
    assert 1 <= max(connections for _, connections in samples.seen) <= MOST_CONNECTIONS
    assert len(scene.provider.calls) == CALLS
    assert scene.rows("SELECT DISTINCT attempt_no FROM ai_job") == [{"attempt_no": 1}]


@pytest.mark.parametrize("count", [300, pytest.param(2000, marks=pytest.mark.long)])
def test_a_backlog_lets_no_lease_lapse_and_the_urgent_overtake(scene: Scene, count: int) -> None:
    low, urgent = _at_priority(scene.world, LOW), _at_priority(scene.world, URGENT)
    last = [low.create().id for _ in range(5)]  # before all others
    for _ in range(count - 10):
        scene.world.create()
    scene.worker(queues=("system",), environ=BRIEF)
    for _ in range(WORKERS):
        scene.worker(queues=("ai-interactive",), threads=THREADS, instant=True, environ=BRIEF)
    eventually(lambda: _ended(scene) > count / 10, WAIT_SECONDS)
    first = [urgent.create().id for _ in range(5)]
    eventually(lambda: _started(scene, first), WAIT_SECONDS)
    assert _ended(scene) < count - 10, "the backlog is too short to overtake"
    _all_succeed(scene, count)

    claims = [row["job_id"] for row in scene.rows(_STEPS, cause="claim")]
    assert len(claims) == len(set(claims)) == count, "every job was claimed once"
    assert scene.rows(_STEPS, cause="expire") == []
    for job_id in first:
        assert _overtaken_by(scene, job_id) <= WORKERS * THREADS
    assert set(claims[-len(last) :]) == set(last)


class _Samples:
    """Of a role, again and again: its longest idle transaction in seconds, and its connections."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, int]] = []
        self._mark = 0

    def mark(self) -> None:
        self._mark = len(self.seen) + 1  # not the one that is being taken

    def since_mark(self) -> list[tuple[float, int]]:
        return self.seen[self._mark :]


@contextmanager
def _sampling(scene: Scene, role: str) -> Iterator[_Samples]:
    samples, over = _Samples(), threading.Event()

    def look() -> None:
        with closing(psycopg2.connect(scene.environ["DATABASE_URL"])) as connection:
            connection.autocommit = True
            with connection.cursor() as cursor:
                while not over.wait(0.02):
                    cursor.execute(_ACTIVITY, (role,))
                    [(held, connections)] = cursor.fetchall()
                    samples.seen.append((held, connections))

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield samples
    finally:
        over.set()
        watcher.join()


def _as_role(url: str, role: str) -> str:
    parts = urlsplit(url)
    where = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"{role}:of-the-tests@{where}").geturl()


def _at_priority(world: World, priority: int) -> World:
    """The same world, whose job types have this priority."""
    types = [replace(definition, default_priority=priority) for definition in BUILTIN]
    return replace(world, engine=replace(world.engine, registry=Registry(types)))


def _ended(scene: Scene) -> int:
    return _count(scene, "SELECT count(*) FROM ai_job WHERE finished_at IS NOT NULL")


def _all_succeed(scene: Scene, count: int) -> None:
    done = (
        "SELECT count(*) FROM ai_job "
        "WHERE lifecycle_status = 'succeeded' AND completed_at IS NOT NULL"
    )
    eventually(lambda: _count(scene, done) == count, WAIT_SECONDS)


def _started(scene: Scene, job_ids: list[UUID]) -> bool:
    sql = "SELECT count(*) FROM ai_job WHERE attempt_no > 0 AND id = ANY (%(ids)s::uuid[])"
    return _count(scene, sql, ids=job_ids) == len(job_ids)


def _overtaken_by(scene: Scene, job_id: UUID) -> int:
    """How many less urgent jobs were claimed after this one's creation and before its claim."""
    return _count(
        scene,
        "SELECT count(*) FROM job_transition other JOIN ai_job job ON job.id = other.job_id, "
        "job_transition made, job_transition taken "
        "WHERE made.job_id = %(id)s AND made.cause = 'create' "
        "AND taken.job_id = %(id)s AND taken.cause = 'claim' "
        "AND other.cause = 'claim' AND other.id BETWEEN made.id AND taken.id "
        "AND job.priority > %(urgent)s",
        id=job_id,
        urgent=URGENT,
    )


def _count(scene: Scene, sql: str, **params: Any) -> int:
    return int(scene.rows(sql, **params)[0]["count"])


_ACTIVITY = """
SELECT coalesce(max(extract(epoch FROM clock_timestamp() - state_change))
                    FILTER (WHERE state LIKE 'idle in transaction%%'), 0)::float, count(*)
FROM pg_stat_activity WHERE usename = %s
"""
_STEPS = "SELECT job_id FROM job_transition WHERE cause = %(cause)s ORDER BY id"
