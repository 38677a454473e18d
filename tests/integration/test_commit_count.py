"""Every commit and every external send stands between its two probes; and what a job may cost.

The hook of the probes reads two gauges that the servers keep: transactions that wrote and committed
(PostgreSQL), and messages, wake-ups and calls that were sent (Redis, the provider). Neither may
move anywhere but between a `before` and its `after`.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import falcon.testing
import psycopg2
import pytest
import redis
from dramatiq.errors import ConnectionClosed

from aijobs.actors import worker
from aijobs.actors.broker import WakingBroker
from aijobs.actors.heartbeat import Heartbeat
from aijobs.actors.passes import all_passes
from aijobs.actors.relay import Relay
from aijobs.engine.cut import CutReason
from aijobs.engine.gateway import OpenAIProvider
from aijobs.engine.settings import Settings
from aijobs.http.app import create_app
from aijobs.http.embedded.records import Records
from aijobs.http.tokens import issue
from aijobs.models import migrate, probes
from aijobs.models.lifecycle import Failure, reject
from tests.scripted_provider import ScriptedProvider
from tests.servers import FAST, OwnPostgres
from tests.world import World, settings_for, world

BATCH = 20
MOST_COMMITS = 7
MOST_STATEMENTS = 30

#: The commits and sends of a plain job, in the order of its life.
PLAIN = [
    *("create.commit", "relay_hint.send"),
    *("relay_claim.commit", "relay_message.send", "relay_publish.commit"),
    *("claim.commit", "call_started.commit", "provider_call.send", "execute.commit"),
    *("project.commit", "relay_hint.send"),
    *("relay_claim.commit", "relay_message.send", "relay_publish.commit"),
    "complete.commit",
]

#: What leaves through Redis: messages (rpush), wake-ups (publish), the key of a cancel (set).
_SENDING = ("rpush", "publish", "set")
_FAILURE = Failure("DEAD_EVENT", "The job could not be dispatched.", "")


@pytest.fixture(scope="module")
def quiet_folder(run_directory: Path) -> Path:
    return Path(tempfile.mkdtemp(prefix="quiet-", dir=run_directory))


@pytest.fixture(scope="module")
def quiet_postgres(quiet_folder: Path, run_records: Records) -> Iterator[OwnPostgres]:
    """A server on which nobody but the test commits, and which logs every statement."""
    options = {"autovacuum": "off", "log_statement": "all", "log_line_prefix": "<%a> "}
    server = OwnPostgres(quiet_folder, {**FAST, **options}, run_records)
    server.start()
    _execute(server.url, "CREATE DATABASE made")
    migrate.run(_with_database(server.url, "made"))
    yield server
    server.stop("kill")


@pytest.fixture
def quiet_url(quiet_postgres: OwnPostgres) -> str:
    """A fresh, migrated database on it."""
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
    """A hook for the probes that lets no commit and no send happen outside of its pair.

    `passed` lists the pairs in order; `wrote` counts the commits that wrote something, by name.
    """

    commits: Callable[[], int]
    sends: Callable[[], int]
    passed: list[str] = field(default_factory=list)
    wrote: Counter[str] = field(default_factory=Counter)
    strays: list[str] = field(default_factory=list)
    _open: str | None = None
    _seen: tuple[int, int] = (0, 0)

    def __call__(self, point: str) -> None:
        name, side = point.split(".")
        when, kind = side.split("_")
        pair = f"{name}.{kind}"
        if when == "before":
            self.nothing_happened(point)
            self._open = pair
            return
        commits, sends = self._moved()
        self.passed.append(pair)
        self.wrote[name] += commits
        is_pair = self._open == pair
        if not is_pair or commits > (kind == "commit") or (sends and kind != "send"):
            self.strays.append(
                f"{commits} commits and {sends} sends until {point}, within {self._open}"
            )
        self._open = None

    def nothing_happened(self, until: str) -> None:
        """Neither gauge has moved. A `before` has no `after` when its commit failed."""
        if (moved := self._moved()) != (0, 0):
            commits, sends = moved
            self.strays.append(f"{commits} commits and {sends} sends before {until}")

    @contextmanager
    def looking_away(self) -> Iterator[None]:
        """What the test itself does."""
        self.nothing_happened("the test itself wrote")
        yield
        self._moved()

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Watch this block."""
        self._moved()
        probes.install(self)
        try:
            yield
            self.nothing_happened("the end")
        finally:
            probes.install(None)
        assert self.strays == []

    def _moved(self) -> tuple[int, int]:
        now, before = (self.commits(), self.sends()), self._seen
        self._seen = now
        return now[0] - before[0], now[1] - before[1]


@dataclass
class Line:
    """A whole system in one thread: API, relay, actors and passes, driven step by step."""

    world: World
    broker: WakingBroker
    client: falcon.testing.TestClient
    relay: Relay
    watch: Watch
    provider: ScriptedProvider

    def create(self) -> UUID:
        """POST /jobs."""
        target = {"targetType": "knowledge_base", "targetId": str(self.world.base_id)}
        answer = self._post("/api/ai/jobs", {"jobType": "quiz_generation", **target})
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

    def run_passes(self) -> None:
        """Every periodic pass, now."""
        all_passes(self.world.engine, self.broker, lambda: None).run_due()

    def abandon(self) -> UUID:
        """A job that was claimed by somebody who is gone."""
        job_id = self.create()
        self.world.engine.attempts.remove(self.world.claim())
        return job_id

    def aside(self, sql: str) -> None:
        """A statement of the test's own."""
        with self.watch.looking_away():
            _execute(self.world.engine.settings.database_url, sql)

    def status(self, job_id: UUID) -> str:
        return str(self.world.job(job_id).lifecycle_status)

    def _post(self, path: str, body: Any) -> falcon.testing.Result:
        token = issue(self.world.engine.settings, self.world.user_id, "USER", 600)
        headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": str(uuid4())}
        return self.client.simulate_post(path, json=body, headers=headers)


@pytest.fixture
def line(quiet_url: str, redis_url: str) -> Iterator[Line]:
    """A line whose provider is behind a real wire."""
    with ScriptedProvider() as provider:
        wired = {
            "AIJOBS_PROVIDER": "openai",
            "AIJOBS_PROVIDER_API_KEY": "key-of-the-tests",
            "AIJOBS_PROVIDER_BASE_URL": provider.base_url,
        }
        environ = {"DATABASE_URL": quiet_url, "REDIS_URL": redis_url, **wired}
        with _line(Settings.from_env(environ), provider) as made:
            yield made


@contextmanager
def _line(settings: Settings, provider: ScriptedProvider) -> Iterator[Line]:
    with (
        world(settings) as made,
        closing(psycopg2.connect(settings.database_url, application_name="gauge")) as gauge,
        redis.Redis.from_url(settings.redis_url) as client,
    ):
        gauge.autocommit = True
        first = _next_transaction(gauge)
        broker = worker.build(settings, made.engine)
        assert isinstance(broker, WakingBroker)
        watch = Watch(lambda: _commits(gauge, first), lambda: _sends(client, provider))
        app = falcon.testing.TestClient(create_app(made.engine, client))
        relay = Relay(broker, made.engine.holder, batch=100, poll_seconds=1)
        yield Line(made, broker, app, relay, watch, provider)
        broker.close()
        if isinstance(made.engine.provider, OpenAIProvider):
            made.engine.provider.close()


def _next_transaction(gauge: Any) -> int:
    """The transaction id that the next writer gets, or one that it has; reading it takes none."""
    with gauge.cursor() as cursor:
        cursor.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
        return int(cursor.fetchone()[0])


def _commits(gauge: Any, first: int) -> int:
    """Transactions from `first` on that wrote something and committed."""
    with gauge.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM generate_series(%s, "
            "pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1) AS id "
            "WHERE pg_xact_status(id::text::xid8) = 'committed'",
            (first,),
        )
        return int(cursor.fetchone()[0])


def _sends(client: Any, provider: ScriptedProvider) -> int:
    stats = client.info("commandstats")
    told = sum(stats.get(f"cmdstat_{name}", {}).get("calls", 0) for name in _SENDING)
    return int(told) + len(provider.calls)


def test_a_job_commits_and_sends_nowhere_but_between_its_probes(line: Line) -> None:
    with line.watch.looking():
        job_id = line.create()
        line.deliver("ai-interactive")
        line.deliver("system")
    assert line.status(job_id) == "succeeded"
    assert line.watch.passed == PLAIN
    committed = Counter(step.split(".")[0] for step in PLAIN if step.endswith("commit"))
    assert +line.watch.wrote == committed


def test_a_commit_without_probes_would_be_found(line: Line) -> None:
    with pytest.raises(AssertionError, match="1 commits and 0 sends before create"):
        _write_unseen(line)


def _write_unseen(line: Line) -> None:
    with line.watch.looking():
        _execute(line.world.engine.settings.database_url, "TRUNCATE notification")
        line.create()


def _retried(line: Line) -> None:
    line.provider.enqueue("503")
    job_id = line.create()
    line.deliver("ai-interactive")
    assert line.status(job_id) == "queued"


def _handed_back(line: Line) -> None:
    line.provider.enqueue("401")
    job_id = line.create()
    line.deliver("ai-interactive")
    assert line.status(job_id) == "queued"


def _failed(line: Line) -> None:
    line.provider.enqueue("400")
    job_id = line.create()
    line.deliver("ai-interactive")
    line.deliver("system")
    assert line.status(job_id) == "failed"


def _repaired_in_vain(line: Line) -> None:
    line.provider.script("ok", text="not JSON")
    job_id = line.create()
    line.deliver("ai-interactive")
    assert (line.status(job_id), len(line.provider.calls)) == ("failed", 2)


def _cancelled_while_queued(line: Line) -> None:
    job_id = line.create()
    line.cancel(job_id)
    line.deliver("system")
    assert line.status(job_id) == "cancelled"


def _cancelled_while_running(line: Line) -> None:
    job_id = line.create()
    attempt = line.world.claim()
    line.cancel(job_id)
    Heartbeat(line.world.engine, line.broker.client).run_once()
    assert attempt.cut.reason is CutReason.CANCELLED
    line.world.run(attempt)
    assert line.status(job_id) == "cancelled"


def _on_a_rebuilt_snapshot(line: Line) -> None:
    job_id = line.create()
    line.aside("UPDATE ai_job_snapshot SET expires_at = now() - interval '1 hour'")
    line.deliver("ai-interactive")
    assert line.status(job_id) == "succeeded"


def _reaped(line: Line) -> None:
    again, over, gone = line.abandon(), line.abandon(), line.abandon()
    line.aside(
        f"""UPDATE ai_job SET lock_until = now() - interval '1 hour';
        UPDATE ai_job SET retry_count = max_retry_count WHERE id = '{over}';
        UPDATE ai_job SET cancel_requested_at = now() WHERE id = '{gone}'"""
    )
    line.run_passes()
    ends = [line.status(job_id) for job_id in (again, over, gone)]
    assert ends == ["queued", "failed", "cancelled"]
    assert line.watch.wrote["reap"] == 3


def _swept(line: Line) -> None:
    lost_hint, lost_end, orphan = line.create(), line.create(), line.create()
    reject(lost_end, _FAILURE, cause="dead_event", actor="test")
    line.aside(
        f"""UPDATE outbox_event SET status = 'published', published_at = now() - interval '1 hour';
        UPDATE ai_job SET dispatched_at = now() - interval '1 hour' WHERE id = '{lost_hint}';
        SET session_replication_role = replica;
        UPDATE ai_job SET finished_at = now() - interval '1 hour' WHERE id = '{lost_end}';
        INSERT INTO ai_job_dependency VALUES ('{orphan}', '{lost_end}')"""
    )
    line.run_passes()
    assert line.status(orphan) == "failed"
    assert (line.watch.wrote["sweep"], line.watch.wrote["reject"]) == (2, 2)


def _released(line: Line) -> None:
    line.create()
    line.aside(
        "UPDATE outbox_event SET status = 'processing', locked_by = 'gone', "
        "locked_at = now() - interval '1 hour'"
    )
    line.run_passes()
    assert line.watch.wrote["relay_release"] == 1


def _purged(line: Line) -> None:
    line.create()
    line.aside(
        "UPDATE outbox_event SET status = 'published', published_at = now() - interval '9 d'"
    )
    line.run_passes()
    assert line.watch.wrote["purge"] == 1


def _repaired_by_a_failing_pass(line: Line) -> None:
    line.aside("ALTER TABLE ai_job_dependency RENAME TO elsewhere")
    line.run_passes()
    assert line.watch.wrote["pass_failed"] == 1


def _dispatched_to_nowhere(line: Line) -> None:
    job_id = line.create()
    line.aside("""UPDATE outbox_event SET payload = '{"queueName": "nowhere"}'""")
    for _ in range(3):
        line.relay.run_once()
    assert line.status(job_id) == "failed"


def _dispatched_without_a_broker(line: Line) -> None:
    line.create()
    with redis.Redis.from_url("redis://127.0.0.1:1", retry=None) as nowhere:
        line.broker.client, kept = nowhere, line.broker.client
        with pytest.raises(ConnectionClosed):
            line.relay.run_once()
        line.broker.client = kept
    assert line.watch.wrote["relay_return"] == 1


@pytest.mark.parametrize(
    "life",
    [
        _retried,
        _handed_back,
        _failed,
        _repaired_in_vain,
        _cancelled_while_queued,
        _cancelled_while_running,
        _on_a_rebuilt_snapshot,
        _reaped,
        _swept,
        _released,
        _purged,
        _repaired_by_a_failing_pass,
        _dispatched_to_nowhere,
        _dispatched_without_a_broker,
    ],
    ids=lambda life: life.__name__.strip("_"),
)
def test_no_other_life_commits_or_sends_unseen(line: Line, life: Callable[[Line], None]) -> None:
    with line.watch.looking():
        life(line)


def test_a_batch_costs_at_most_seven_commits_and_thirty_statements_a_job(
    quiet_folder: Path, quiet_url: str, redis_url: str
) -> None:
    """Counted by the server: its log has every statement, BEGIN and COMMIT among them."""
    settings = settings_for(quiet_url, redis_url)
    with ScriptedProvider() as unused, _line(settings, unused) as line:
        before = _statements(quiet_folder)
        with line.watch.looking():
            jobs = [line.create() for _ in range(BATCH)]
            line.deliver("ai-interactive", BATCH)
            line.deliver("system", BATCH)
        statements = (_statements(quiet_folder) - before) / BATCH
        assert {line.status(job_id) for job_id in jobs} == {"succeeded"}
    commits = line.watch.wrote.total() / BATCH
    print(f"per job of {BATCH}: {commits:g} commits, {statements:g} statements")
    assert commits <= MOST_COMMITS
    assert statements <= MOST_STATEMENTS


def _statements(folder: Path) -> int:
    """Statements of the system under test so far."""
    return (folder / "postgres.log").read_text().count("<aijobs> LOG:  statement: ")
