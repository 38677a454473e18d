"""A hundred jobs under way when a server goes away: all finish, and nobody is asked twice.

All processes are the production ones and must outlive every outage by themselves; the provider
stays up, and its own log says what was asked of it.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from aijobs.http.embedded.records import Records
from tests.acceptance.fleet import Fleet
from tests.acceptance.installation import Round, System, installed
from tests.eventually import eventually
from tests.servers import OwnValkey

BRIEF_SECONDS = 5.0
HANG_SECONDS = 8.0
MINUTE_SECONDS = 60.0


@pytest.fixture(scope="module")
def system(run_directory: Path, run_records: Records) -> Iterator[System]:
    folder = run_directory / "outages"
    folder.mkdir()
    with installed(folder, run_records) as made:
        yield made


def test_redis_flushed(system: System) -> None:
    round = Round(system)
    with system.redis() as client:
        client.flushall()
    round.outlived()


def test_redis_crashes_and_restarts_empty(system: System) -> None:
    round = Round(system)
    system.valkey.stop("kill")
    system.valkey.start()
    round.outlived()


_long = pytest.param(MINUTE_SECONDS, marks=pytest.mark.long)


@pytest.mark.parametrize("seconds", [BRIEF_SECONDS, _long])
def test_redis_absent(system: System, seconds: float) -> None:
    round = Round(system)
    system.valkey.stop()
    round.jobs.append(system.ask())
    _pass(seconds)
    system.valkey.start()
    round.outlived()


@pytest.mark.long
def test_redis_hangs(system: System) -> None:
    """Connections stay open and nobody answers, for longer than the clients wait."""
    round = Round(system)
    os.kill(system.valkey.pid, signal.SIGSTOP)
    try:
        round.jobs.append(system.ask())
        _pass(HANG_SECONDS)
    finally:
        os.kill(system.valkey.pid, signal.SIGCONT)
    round.outlived()


@pytest.mark.long
@pytest.mark.parametrize("policy", ["noeviction", "allkeys-random"])
def test_redis_full(system: System, policy: str) -> None:
    """It refuses every write, or throws away messages and queues as it likes."""
    round = Round(system)
    with system.redis() as client:
        client.config_set("maxmemory-policy", policy)
        client.config_set("maxmemory", "1")
        with pytest.raises(redis.OutOfMemoryError):
            client.set("there is", "no room")
        round.jobs.append(system.ask())
        _pass(BRIEF_SECONDS)
        client.config_set("maxmemory", "0")
        client.config_set("maxmemory-policy", "noeviction")
    round.outlived()


def test_a_scheduler_outlives_reminders_that_nobody_takes(
    server_folder: Path, database_url: str, own_valkey: OwnValkey, run_records: Records
) -> None:
    """It sends one when it starts, so that no minute has to pass."""
    url = own_valkey.url
    own_valkey.stop()
    environ = {"DATABASE_URL": database_url, "REDIS_URL": url}
    fleet = Fleet(server_folder / "fleet", environ, run_records)
    try:
        fleet.start_alone("scheduler")
        started = fleet.processes()
        eventually(lambda: "reminder_lost" in fleet.logs()["scheduler"], 60)
        assert fleet.processes() == started
    finally:
        fleet.stop()
    assert "Traceback" not in fleet.logs()["scheduler"]


def test_postgresql_restarted_at_once(system: System) -> None:
    round = Round(system)
    system.postgres.stop("fast")
    system.postgres.start()
    round.outlived()


@pytest.mark.parametrize("mode", ["fast", "kill"])
@pytest.mark.parametrize("seconds", [BRIEF_SECONDS, _long])
def test_postgresql_absent(system: System, mode: str, seconds: float) -> None:
    round = Round(system)
    system.postgres.stop(mode)  # type: ignore[arg-type]
    _pass(seconds)
    system.postgres.start()
    round.outlived()


def _pass(seconds: float) -> None:
    until = time.monotonic() + seconds
    eventually(lambda: time.monotonic() >= until, seconds + 10)
