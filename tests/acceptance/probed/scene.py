"""A test's own database, provider and processes, and the means to let time pass between them."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import psycopg2

from aijobs.engine.settings import Settings
from aijobs.http.tokens import issue
from aijobs.models import database as db
from tests.acceptance.probed.child import Child
from tests.acceptance.probed.inside import Orders, serve, work
from tests.eventually import eventually
from tests.scripted_provider import ScriptedProvider
from tests.world import ROOM_VARIABLES, World, world

#: Passes follow each other fast; leases stay long, so that only a test lets them lapse.
QUICK = {
    "AIJOBS_REAPER_INTERVAL_SECONDS": "0.2",
    "AIJOBS_OUTBOX_POLL_SECONDS": "0.1",
    "AIJOBS_HEARTBEAT_SECONDS": "0.2",
    "AIJOBS_CIRCUIT_OPEN_SECONDS": "0.3",
    "AIJOBS_LOG_LEVEL": "debug",
}
CONVERGE_SECONDS = 60.0


@dataclass
class Scene:
    """`world` works in the process of the test, with the same provider as the children."""

    world: World
    provider: ScriptedProvider
    environ: dict[str, str]
    folder: Path
    children: list[Child] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def worker(self, environ: Mapping[str, str] | None = None, **orders: Any) -> Child:
        """Start a worker; `orders` are fields of Orders."""
        return self._start(work, self._orders("worker", environ, orders))

    def api(self, environ: Mapping[str, str] | None = None, **orders: Any) -> Api:
        """Start an API."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            host, port = listener.getsockname()
            child = self._start(serve, self._orders("api", environ, orders), listener)
        settings = Settings.from_env(self.environ)
        token = issue(settings, self.world.user_id, "USER", 3600)
        return Api(child, f"http://{host}:{port}/api/ai", {"Authorization": f"Bearer {token}"})

    def execute(self, sql: str, **params: Any) -> None:
        """A statement of the superuser, who may also do what the triggers refuse."""
        with (
            closing(psycopg2.connect(self.environ["DATABASE_URL"])) as connection,
            connection,
            connection.cursor() as cursor,
        ):
            cursor.execute(sql, params)

    def rows(self, sql: str, **params: Any) -> list[dict[str, Any]]:
        """What a query finds."""
        return db.read(lambda: db.rows(sql, params))

    def half_a_day_passes(self) -> None:
        """Leases, locks and hints grow old, as if nothing had run since. What a dead process had
        sent to the database is done before.
        """
        if not any(child.is_alive for child in self.children):
            db.disconnect()
            eventually(self._is_alone, 30)
        self.execute(_AGE)

    def hurry(self) -> None:
        """What waits for a later time is due now."""
        self.execute(_DUE)

    def converges(self) -> None:
        """Wait until every job is completed and every event is through."""

        def is_quiet() -> bool:
            self.hurry()
            assert self.rows(_UNFINISHED) == []
            return True

        eventually(is_quiet, CONVERGE_SECONDS)

    def clear_away(self) -> None:
        """Kill what still runs, and print what all have said (shown when a test fails)."""
        for child in self.children:
            child.kill()
            print(f"--- {child.orders.log.name}\n{child.said}")

    def _is_alone(self) -> bool:
        with (
            closing(psycopg2.connect(self.environ["DATABASE_URL"])) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute(_OTHERS)
            return cursor.fetchall() == []

    def _orders(
        self, name: str, environ: Mapping[str, str] | None, orders: Mapping[str, Any]
    ) -> Orders:
        log = self.folder / f"{next(self._numbers)}-{name}.log"
        return Orders({**self.environ, **(environ or {})}, log, **orders)

    def _start(self, task: Any, orders: Orders, *more: Any) -> Child:
        child = Child(task, orders, *more)
        self.children.append(child)
        return child


@dataclass(frozen=True)
class Api:
    """A client of an API process, speaking for the scene's user."""

    child: Child
    url: str
    headers: dict[str, str]

    def create(self, base_id: UUID, key: str) -> httpx.Response:
        """POST /jobs for a quiz."""
        body = {
            "jobType": "quiz_generation",
            "targetType": "knowledge_base",
            "targetId": str(base_id),
        }
        return self._post("/jobs", body, {"Idempotency-Key": key})

    def cancel(self, job_id: UUID) -> httpx.Response:
        """POST /jobs/{id}/cancel."""
        return self._post(f"/jobs/{job_id}/cancel", None, {})

    def _post(self, path: str, body: Any, headers: Mapping[str, str]) -> httpx.Response:
        sent = {**self.headers, **headers}
        with httpx.Client(timeout=60, trust_env=False) as client:
            return client.post(f"{self.url}{path}", json=body, headers=sent)


@contextmanager
def scene_of(database_url: str, redis_url: str, folder: Path, **environ: str) -> Iterator[Scene]:
    """A scene with a learner and their material, and a provider that answers well.

    `environ`: settings of all processes by their variables.
    """
    with ScriptedProvider(log=folder / "provider.jsonl") as provider:
        settings = {
            **ROOM_VARIABLES,
            **QUICK,
            "DATABASE_URL": database_url,
            "REDIS_URL": redis_url,
            "AIJOBS_PROVIDER": "openai",
            "AIJOBS_PROVIDER_API_KEY": "key-of-the-tests",
            "AIJOBS_PROVIDER_BASE_URL": provider.base_url,
            **environ,
        }
        with world(Settings.from_env(settings)) as made:
            scene = Scene(made, provider, settings, folder)
            try:
                yield scene
            finally:
                scene.clear_away()


# `replica` switches off the triggers that freeze an ended job. The reaper's last success stays
# where it is: else it would believe in an outage, and wait a lease before it takes any away.
_AGE = """
SET LOCAL session_replication_role = replica;
UPDATE ai_job SET lock_until = lock_until - interval '12 hours',
                  dispatched_at = dispatched_at - interval '12 hours',
                  finished_at = finished_at - interval '12 hours';
UPDATE outbox_event SET locked_at = locked_at - interval '12 hours',
                        published_at = published_at - interval '12 hours';
UPDATE maintenance_pass SET last_started_at = last_started_at - interval '12 hours'
WHERE name IN ('reaper', 'sweep', 'outbox_release');
"""

_OTHERS = """
SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
"""

# An event never before its job, whenever a process commits between the two: its message would find
# nothing to claim.
_DUE = """
UPDATE ai_job SET available_at = now(), dispatched_at = least(dispatched_at, now())
WHERE lifecycle_status = 'queued' AND available_at > now();
UPDATE outbox_event event SET available_at = now() FROM ai_job job
WHERE job.id = event.aggregate_id AND job.available_at <= now()
  AND event.status = 'pending' AND event.available_at > now();
"""

_UNFINISHED = """
SELECT id::text, lifecycle_status AS status FROM ai_job WHERE completed_at IS NULL
UNION ALL
SELECT event_type, status FROM outbox_event WHERE status IN ('pending', 'processing')
"""
