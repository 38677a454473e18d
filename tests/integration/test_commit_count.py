"""Every commit and every external send stands between its two probes; and how many a job may cost.

The hook of the probes reads two gauges that the servers keep: transactions that wrote (the next
transaction id of PostgreSQL) and sends (commands of Redis, calls at the provider). Neither may move
anywhere but between a `.before_` and its `.after_`.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import falcon.testing
import psycopg2
import pytest
import redis

from aijobs.actors import worker
from aijobs.actors.broker import WakingBroker
from aijobs.actors.passes import all_passes
from aijobs.actors.relay import Relay
from aijobs.engine.attempt import Attempt
from aijobs.engine.cut import CutReason
from aijobs.engine.errors import ERRORS
from aijobs.engine.gateway import OpenAIProvider
from aijobs.engine.settings import Settings
from aijobs.engine.signals import Signals
from aijobs.http.app import create_app
from aijobs.http.embedded.records import Records
from aijobs.http.tokens import issue
from aijobs.models import database as db
from aijobs.models import migrate, probes
from aijobs.models.lifecycle import Failure, begin, reject, request_cancel
from tests.scripted_provider import ScriptedProvider
from tests.servers import FAST, OwnPostgres
from tests.world import World, world

BATCH = 20
MOST_COMMITS = 7
MOST_STATEMENTS = 30

#: What leaves the process through Redis: messages (rpush), wake-ups (publish), a cancel's key (set).
_SENDING = ("rpush", "publish", "set")
#: The transactions and sends of a plain job, in the order of its life.
_PLAIN = [
    *("create.commit", "relay_hint.send"),
    *("relay_claim.commit", "relay_message.send", "relay_publish.commit"),
    *("claim.commit", "call_started.commit", "provider_call.send", "execute.commit"),
    *("project.commit", "relay_hint.send"),
    *("relay_claim.commit", "relay_message.send", "relay_publish.commit"),
    *("complete.commit", "relay_hint.send"),
]


@pytest.fixture(scope="module")
def quiet_folder(run_directory: Path) -> Path:
    return Path(tempfile.mkdtemp(prefix="quiet-", dir=run_directory))


@pytest.fixture(scope="module")
def quiet_postgres(quiet_folder: Path, run_records: Records) -> Iterator[OwnPostgres]:
    """A server on which nobody but the test commits, and which logs every statement."""
    options = {"autovacuum": "off", "log_statement": "all", "log_line_prefix": "<%a|%d> "}
    server = OwnPostgres(quiet_folder, {**FAST, **options}, run_records)
    server.start()
    _execute(server.url, "CREATE DATABASE made")
    migrate.run(_with_database(server.url, "made"))
    yield server
    server.stop("kill")


@pytest.fixture
def quiet_url(quiet_postgres: OwnPostgres) -> str:
    """A fresh database of its."""
    name = f"quiet_{uuid4().hex[:12]}"
    _execute(quiet_postgres.url, f"CREATE DATABASE {name} TEMPLATE made")
    return _with_database(quiet_postgres.url, name)


def _execute(url: str, sql: str) -> None:
    with closing(psycopg2.connect(url, application_name="test")) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(sql)


def _with_database(url: str, name: str) -> str:
    return urlsplit(url)._replace(path=f"/{name}").geturl()


@dataclass
class Watch:
    """A hook for the probes that lets no commit and no send pass outside of its pair.

    `passed` lists the pairs in order; `wrote` counts the commits that wrote something, by name.
    """

    commits: Callable[[], int]
    sends: Callable[[], int]
    passed: list[str] = field(default_factory=list)
    wrote: Counter[str] = field(default_factory=Counter)
    strays: list[str] = field(default_factory=list)
    _open: str | None = None
    _seen: tuple[int, int] = (0, 0)

    def start(self) -> None:
        self._moved()

    def __call__(self, point: str) -> None:
        name, _, (when, _, kind) = *point.split("."), point.split(".")[1].partition("_")
@dataclass
class Line:
    """A whole system in one thread: API, relay, actors and passes, driven step by step."""

    world: World
    broker: WakingBroker
    provider: ScriptedProvider | None
    client: falcon.testing.TestClient
    relay: Relay
    watch: Watch

    def create(self) -> UUID:
        """POST /jobs."""
        answer = self._post("/api/ai/jobs", self._body())
        assert answer.status_code == 201, answer.text
        return UUID(answer.json["jobId"])

    def cancel(self, job_id: UUID) -> None:
        """POST /jobs/{id}/cancel."""
        assert self._post(f"/api/ai/jobs/{job_id}/cancel", None).status_code in (200, 202)

    def deliver(self, queue_name: str, count: int = 1) -> None:
        """Relay what is due, and work off `count` messages of a queue as a worker's thread does."""
        self.relay.run_once()
        consumer = self.broker.consume(queue_name, prefetch=2 * count)
        for _ in range(count):
            message = next(consumer)
            assert message is not None
            self.broker.emit_before("process_message", message)
            self.broker.get_actor(message.actor_name)(*message.args, **message.kwargs)
            self.broker.emit_after("process_message", message, result=None)
            consumer.ack(message)
        consumer.close()

    def run_passes(self) -> None:
        """Every periodic pass, now."""
        all_passes(self.world.engine, self.broker, lambda: None).run_due()

    def status(self, job_id: UUID) -> str:
        return str(self.world.job(job_id).lifecycle_status)

    def _body(self) -> dict[str, Any]:
        target = {"targetType": "knowledge_base", "targetId": str(self.world.base_id)}
        return {"jobType": "quiz_generation", **target}

    def _post(self, path: str, body: Any) -> falcon.testing.Result:
        token = issue(self.world.engine.settings, self.world.user_id, "USER", 600)
        headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": str(uuid4())}
        return self.client.simulate_post(path, json=body, headers=headers)


@pytest.fixture
def line(quiet_postgres: OwnPostgres, redis_url: str) -> Iterator[Line]:
    """A line with a provider of its own behind a real wire."""
    with ScriptedProvider() as provider:
        settings = Settings(
            database_url=quiet_postgres.url,
            redis_url=redis_url,
            provider="openai",
            provider_base_url=provider.base_url,
            provider_api_key="key-of-the-tests",  # type: ignore[arg-type]
        )
        with _line(settings, provider) as made:
            yield made


@contextmanager
def _line(settings: Settings, provider: ScriptedProvider | None) -> Iterator[Line]:
    with (
        world(settings) as made,
        closing(psycopg2.connect(settings.database_url, application_name="gauge")) as gauge,
        redis.Redis.from_url(settings.redis_url) as client,
    ):
        gauge.autocommit = True
        broker = worker.build(settings, made.engine)
        watch = Watch(lambda: _completed_xid(gauge), lambda: _sends(client, provider))
        app = create_app(made.engine, client)
        relay = Relay(broker, made.engine.holder, batch=100, poll_seconds=1)
        yield Line(made, broker, provider, falcon.testing.TestClient(app), relay, watch)
        broker.close()
        if isinstance(made.engine.provider, OpenAIProvider):
            made.engine.provider.close()


@contextmanager
def _watching(watch: Watch) -> Iterator[None]:
    watch.start()
    probes.install(watch)
    try:
        yield
        watch.stop()
    finally:
        probes.install(None)
    assert watch.strays == []


def _completed_xid(gauge: Any) -> int:
    """One past the last transaction that took an id and ended: reading it takes none."""
    with gauge.cursor() as cursor:
        cursor.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
        return int(cursor.fetchone()[0])


def _sends(client: Any, provider: ScriptedProvider | None) -> int:
    stats = client.info("commandstats")
    told = sum(stats.get(f"cmdstat_{name}", {}).get("calls", 0) for name in _SENDING)
    return int(told) + (0 if provider is None else len(provider.calls))


def test_a_job_commits_and_sends_nowhere_but_between_its_probes(line: Line) -> None:
    with _watching(line.watch):
        job_id = line.create()
        line.deliver("ai-interactive")
        line.deliver("system")
    assert line.status(job_id) == "succeeded"
    assert line.watch.passed == _PLAIN
    kinds = [step.split(".") for step in _PLAIN]
    assert line.watch.wrote == Counter(name for name, kind in kinds if kind == "commit")


def _retried(line: Line) -> None:
    assert line.provider is not None
    line.provider.enqueue("503")
    job_id = line.create()
    line.deliver("ai-interactive")
    assert line.status(job_id) == "queued"


def _handed_back(line: Line) -> None:
    assert line.provider is not None
    line.provider.enqueue("401")
    job_id = line.create()
    line.deliver("ai-interactive")
    assert line.status(job_id) == "queued"


def _failed(line: Line) -> None:
    assert line.provider is not None
    line.provider.enqueue("400")
    job_id = line.create()
    line.deliver("ai-interactive")
    line.deliver("system")
    assert line.status(job_id) == "failed"


def _repaired(line: Line) -> None:
    assert line.provider is not None
    line.provider.enqueue("ok", text="not JSON")
    line.provider.enqueue("ok", text='{"questions": []}')
    job_id = line.create()
    line.deliver("ai-interactive")
    assert line.status(job_id) == "failed"


def _cancelled_while_queued(line: Line) -> None:
    job_id = line.create()
    line.cancel(job_id)
    line.deliver("system")
    assert line.status(job_id) == "cancelled"


def _cancelled_while_running(line: Line) -> None:
    job_id = line.create()
    attempt = line.world.claim()
    line.cancel(job_id)
    attempt.cut.cut(CutReason.CANCELLED)
    line.world.run(attempt)
    assert line.status(job_id) == "cancelled"


def _snapshot_rebuilt(line: Line) -> None:
    job_id = line.create()
    _aside(line, "UPDATE ai_job_snapshot SET expires_at = now() - interval '1 hour'")
    line.deliver("ai-interactive")
    assert line.status(job_id) == "succeeded"


def _reaped(line: Line) -> None:
    again, over, gone = [_abandoned(line) for _ in range(3)]
    _aside(
        line,
        "UPDATE ai_job SET lock_until = now() - interval '1 hour' WHERE lock_until IS NOT NULL;"
        f"UPDATE ai_job SET retry_count = max_retry_count WHERE id = '{over}';"
        f"UPDATE ai_job SET cancel_requested_at = now() WHERE id = '{gone}'",
    )
    line.run_passes()
    assert [line.status(job_id) for job_id in (again, over, gone)] == [
        "queued",
        "failed",
        "cancelled",
    ]


def _swept(line: Line) -> None:
    lost_hint, lost_end, orphan, parent = [line.create() for _ in range(4)]
    Signals(line.broker.client).hint_outbox()
    failure = Failure("DEAD_EVENT", ERRORS["DEAD_EVENT"].public_message("en"), "")
    reject(lost_end, failure, cause="dead_event", actor="test")
    reject(parent, failure, cause="dead_event", actor="test")
    _aside(
        line,
        "UPDATE outbox_event SET status = 'published', published_at = now() - interval '1 hour';"
        "UPDATE ai_job SET dispatched_at = now() - interval '1 hour' "
        f"WHERE id = '{lost_hint}';"
        "SET LOCAL session_replication_role = replica;"
        "UPDATE ai_job SET finished_at = now() - interval '1 hour' WHERE finished_at IS NOT NULL;"
        f"INSERT INTO ai_job_dependency VALUES ('{orphan}', '{parent}')",
    )
    line.run_passes()
    assert line.status(orphan) == "failed"
    assert line.watch.wrote["sweep"] == 2


def _relay_released(line: Line) -> None:
    line.create()
    _aside(
        line,
        "UPDATE outbox_event SET status = 'processing', locked_by = 'gone', "
        "locked_at = now() - interval '1 hour'",
    )
    line.run_passes()
    assert line.watch.wrote["relay_release"] == 1


def _purged(line: Line) -> None:
    line.create()
    _aside(
        line,
        "UPDATE outbox_event SET status = 'published', published_at = now() - interval '1 month'",
    )
    line.run_passes()
    assert line.watch.wrote["purge"] == 1


def _pass_failed(line: Line) -> None:
    _aside(line, "ALTER TABLE ai_job_dependency RENAME TO elsewhere")
    try:
        line.run_passes()
    finally:
        _aside(line, "ALTER TABLE elsewhere RENAME TO ai_job_dependency")
    assert line.watch.wrote["pass_failed"] == 1


def _dead_event(line: Line) -> None:
    job_id = line.create()
    _aside(line, """UPDATE outbox_event SET payload = '{"queueName": "nowhere"}'""")
    for _ in range(3):
        line.relay.run_once()
    assert line.status(job_id) == "failed"


def _asked_again(line: Line) -> None:
    """A lease that is renewed and lost, and a request that nobody was there to hear."""
    job_id = line.create()
    attempt = line.world.claim()
    _beat(line)
    assert request_cancel(job_id, reason="test") is not None
    _beat(line)
    assert attempt.cut.reason is CutReason.CANCELLED


@pytest.mark.parametrize(
    "life",
    [
        _retried,
        _handed_back,
        _failed,
        _repaired,
        _cancelled_while_queued,
        _cancelled_while_running,
        _snapshot_rebuilt,
        _reaped,
        _swept,
        _relay_released,
        _purged,
        _pass_failed,
        _dead_event,
        _asked_again,
    ],
    ids=lambda life: life.__name__.strip("_"),
)
def test_no_other_life_of_a_job_commits_or_sends_unseen(
    line: Line, life: Callable[[Line], None]
) -> None:
    _empty(line)
    with _watching(line.watch):
        life(line)
