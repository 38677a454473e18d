"""A whole stack with nothing to do: what it costs, and how soon it notices that there is a job."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import psycopg2
import pytest
import redis

from aijobs.http.client import Client
from aijobs.http.embedded.records import Records
from tests.eventually import eventually
from tests.servers import OwnPostgres
from tests.stack import Stack

IDLE_SECONDS = 60.0
MOST_STATEMENTS = 100
MOST_COMMANDS = 100

#: The first round of the passes is over, its second step too, and every connection is made.
_SETTLING_SECONDS = 35.0
#: A line begins so for each message of a client that executes something, BEGIN and COMMIT too:
#: psycopg2 sends every statement by itself. A statement's other lines are indented.
_EXECUTED = re.compile(r"^statement log\|.* LOG:  (?:statement|execute [^:]*): \s*(.*)", re.M)
_POINTS = [
    {"title": f"Part {n}", "body": f"Part {n} of the cell is the one that does task {n}."}
    for n in range(1, 7)
]


@pytest.fixture
def stack(server_folder: Path) -> Iterator[Stack]:
    stack = Stack(server_folder)
    yield stack
    stack.clear_away()


@pytest.fixture
def logging_postgres(server_folder: Path, run_records: Records) -> Iterator[OwnPostgres]:
    """A PostgreSQL that writes down every statement of every client."""
    options = {"log_statement": "all", "log_line_prefix": "statement log|%p "}
    server = OwnPostgres(server_folder, options, run_records)
    server.start()
    yield server
    server.stop("kill")


@pytest.mark.long
def test_idle_for_a_minute_it_costs_a_hundred_statements_and_commands(
    stack: Stack, logging_postgres: OwnPostgres, server_folder: Path
) -> None:
    stack.start(DATABASE_URL=logging_postgres.url)
    with _client(stack) as client:
        _finish_a_job(client)
    _pass(_SETTLING_SECONDS)
    log = server_folder / "postgres.log"
    with _monitored(stack.env["REDIS_URL"]) as commands:
        begins = log.stat().st_size
        _pass(IDLE_SECONDS)
        written = log.read_bytes()[begins:].decode()
    statements = Counter(_EXECUTED.findall(written))
    assert statements.total() > 0, "the log has nothing: the count would prove nothing"
    assert commands.total() > 0, "the monitor saw nothing: the count would prove nothing"
    assert statements.total() <= MOST_STATEMENTS, statements
    assert commands.total() <= MOST_COMMANDS, commands


def test_a_job_on_an_idle_stack_is_woken_for_and_not_found_by_a_poll(stack: Stack) -> None:
    """A poll or a look every 30 s can help one job of those that end within 20 s, at most."""
    stack.start(
        AIJOBS_OUTBOX_POLL_SECONDS="30",
        AIJOBS_REAPER_INTERVAL_SECONDS="600",
        AIJOBS_REDISPATCH_SECONDS="600",
    )
    with _client(stack) as client:
        _finish_a_job(client)
        until = time.monotonic() + 20
        made = [_finish_a_job(client) for _ in range(5)]
        eventually(lambda: len(_waits(stack, made)) == len(made), 20)
        assert time.monotonic() < until
    assert median(_waits(stack, made)) < 1.0


def _client(stack: Stack) -> closing[Client]:
    return closing(Client(stack.env["AIJOBS_URL"], stack.env["AIJOBS_USER_TOKEN"]))


def _finish_a_job(client: Client) -> str:
    """A job from nothing to its result."""
    base_id = client.add_base("The cell")
    client.add_points(base_id, _POINTS)
    job = client.create_job("quiz_generation", "knowledge_base", base_id, questionCount=3)
    job_id: str = job["jobId"]
    eventually(lambda: client.job(job_id)["lifecycleStatus"] == "succeeded", 30)
    return job_id


def _waits(stack: Stack, job_ids: list[str]) -> list[float]:
    """Seconds from the creation of each completed job to its claim, by the database's clock."""
    waits = (
        "SELECT extract(epoch FROM started_at - created_at)::float FROM ai_job "
        "WHERE id = ANY (%s::uuid[]) AND completed_at IS NOT NULL"
    )
    with closing(psycopg2.connect(stack.env["DATABASE_URL"])) as connection:
        cursor = connection.cursor()
        cursor.execute(waits, (job_ids,))
        return [seconds for (seconds,) in cursor.fetchall()]


@contextmanager
def _monitored(url: str) -> Iterator[Counter[str]]:
    """Every command that Redis executes during the block, those inside scripts as well."""
    seen: Counter[str] = Counter()
    ready = threading.Event()
    end = "the test has seen enough"

    def listen() -> None:
        with watcher.monitor() as monitor:
            ready.set()
            for command in monitor.listen():
                if end in command["command"]:
                    return
                seen[_kind(command)] += 1

    with (
        redis.Redis.from_url(url, socket_timeout=None) as watcher,
        redis.Redis.from_url(url) as teller,
    ):
        teller.ping()
        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        assert ready.wait(10)
        yield seen
        teller.echo(end)
        thread.join(10)


def _kind(command: dict[str, Any]) -> str:
    where = "in a script: " if command["client_type"] == "lua" else ""
    return where + " ".join(command["command"].split()[:2])


def _pass(seconds: float) -> None:
    until = time.monotonic() + seconds
    eventually(lambda: time.monotonic() >= until, seconds + 10)
