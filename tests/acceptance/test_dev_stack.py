"""`aijobs dev` from the first command to the last Ctrl-C, and what the crash of any part does."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import psycopg2
import pytest
import redis

from aijobs.http.embedded.programs import WORKERS
from tests.eventually import eventually
from tests.processes import runs
from tests.servers import OwnPostgres, OwnValkey
from tests.stack import Stack

PROGRAMS = {"api", "scheduler", *(f"worker {queue}" for queue in WORKERS)}


@pytest.fixture
def stack(server_folder: Path) -> Iterator[Stack]:
    stack = Stack(server_folder)
    yield stack
    stack.clear_away()


@pytest.fixture(scope="module")
def running(run_directory: Path) -> Iterator[Stack]:
    """One stack for the tests that leave it as ready as they found it."""
    folder = run_directory / "running"
    folder.mkdir()
    stack = Stack(folder)
    stack.start()
    yield stack
    stack.clear_away()


def test_everything_runs_when_the_env_file_appears(running: Stack) -> None:
    assert set(running.processes()) == {"postgres", "valkey", *PROGRAMS}
    assert running.is_ready()


def test_the_env_file_is_private_and_opens_the_servers_and_the_api(running: Stack) -> None:
    env = running.env
    assert (running.data / "env").stat().st_mode & 0o777 == 0o600
    with closing(psycopg2.connect(env["DATABASE_URL"])) as connection:
        assert connection.server_version >= 170000
    with redis.Redis.from_url(env["REDIS_URL"]) as client:
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
    mine = httpx.get(
        f"{env['AIJOBS_URL']}/api/ai/jobs",
        headers={"Authorization": f"Bearer {env['AIJOBS_USER_TOKEN']}"},
        trust_env=False,
    )
    assert mine.status_code == 200
    assert mine.headers["RateLimit-Limit"] == "6000"


@pytest.mark.parametrize("name", sorted({"postgres", "valkey", *PROGRAMS}))
def test_what_is_killed_comes_back_and_the_stack_is_ready_again(running: Stack, name: str) -> None:
    pid = running.processes()[name]
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: running.processes().get(name, pid) != pid, 30)
    eventually(running.is_ready, 60)
    assert not runs(pid)


def test_a_second_start_on_the_directory_is_refused_in_one_line(running: Stack) -> None:
    second = Stack(running.data.parent).begin()
    printed, complaint = second.communicate(timeout=60)
    assert (second.returncode, printed) == (1, "")
    assert complaint.count("\n") == 1
    assert "is in use by another `aijobs dev`" in complaint
    assert running.is_ready()


def test_one_ctrl_c_leaves_nothing_behind(stack: Stack) -> None:
    stack.start()
    port = int(stack.env["AIJOBS_URL"].rsplit(":", 1)[1])
    pids = [*stack.processes().values(), *stack.left_running()]
    stack.interrupt()
    assert stack.left_running() == []
    assert [pid for pid in pids if runs(pid)] == []
    with socket.create_server(("127.0.0.1", port)):
        pass


@pytest.mark.long
def test_after_a_crash_the_next_start_clears_up_and_keeps_the_data(stack: Stack) -> None:
    stack.start()
    before = stack.env
    with closing(psycopg2.connect(before["DATABASE_URL"])) as connection:
        connection.cursor().execute("CREATE TABLE kept AS SELECT 7 AS n")
        connection.commit()
    stack.kill()
    left = stack.left_running()
    assert len(left) >= len(PROGRAMS) + 2
    stack.start()
    assert [pid for pid in left if runs(pid)] == []
    assert stack.env["AIJOBS_JWT_SECRET"] == before["AIJOBS_JWT_SECRET"]
    assert stack.env["REDIS_URL"] == before["REDIS_URL"]
    with closing(psycopg2.connect(stack.env["DATABASE_URL"])) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT n FROM kept")
        assert cursor.fetchone() == (7,)
    assert "left over" in stack.interrupt()
    assert stack.left_running() == []


@pytest.mark.long
def test_a_start_under_its_own_env_file_uses_its_own_servers(stack: Stack) -> None:
    stack.start()
    env = stack.env
    stack.interrupt()
    stack.start(**env)
    assert {"postgres", "valkey"} <= set(stack.processes())
    stack.interrupt()


@pytest.mark.long
def test_servers_of_the_environment_replace_the_embedded_ones(
    stack: Stack, own_postgres: OwnPostgres, own_valkey: OwnValkey
) -> None:
    stack.start(
        DATABASE_URL=own_postgres.url,
        REDIS_URL=own_valkey.url,
        AIJOBS_LEASE_SECONDS="45",
        AIJOBS_USER_REQUESTS_PER_MINUTE="7",
    )
    assert set(stack.processes()) == PROGRAMS
    assert stack.env["DATABASE_URL"] == own_postgres.url
    assert stack.env["REDIS_URL"] == own_valkey.url
    assert stack.env["AIJOBS_LEASE_SECONDS"] == "45"
    assert stack.env["AIJOBS_USER_REQUESTS_PER_MINUTE"] == "7"
    stack.interrupt()
    assert runs(own_postgres.pid)
    assert runs(own_valkey.pid)


def test_a_port_in_use_is_told_in_one_line(stack: Stack) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = stack.begin("--port", str(port))
        printed, complaint = refused.communicate(timeout=60)
    assert (refused.returncode, printed) == (1, "")
    assert complaint.startswith(f"aijobs: port {port} cannot be used")
    assert complaint.count("\n") == 1
    assert stack.left_running() == []


def test_bad_settings_are_told_in_a_line_each_before_anything_starts(stack: Stack) -> None:
    refused = stack.begin(AIJOBS_LEASE_SECONDS="-1", AIJOBS_MODE="productive")
    printed, complaint = refused.communicate(timeout=60)
    assert (refused.returncode, printed) == (2, "")
    assert [line.split()[1] for line in complaint.splitlines()] == [
        "AIJOBS_MODE",
        "AIJOBS_LEASE_SECONDS",
    ]
    assert stack.left_running() == []


@pytest.mark.long
def test_an_api_that_cannot_start_ends_the_attempt_with_its_reason(stack: Stack) -> None:
    refused = stack.begin(AIJOBS_DEFINITIONS_MODULES="no_such_module_of_anybody")
    _, complaint = refused.communicate(timeout=120)
    assert refused.returncode == 1
    assert "api does not get ready" in complaint
    assert "no_such_module_of_anybody" in complaint
    assert stack.left_running() == []
