"""The test servers themselves: fresh databases, an empty Valkey, outages at the same address."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import psycopg2
import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.eventually import eventually
from tests.processes import runs
from tests.servers import OwnPostgres, OwnValkey, run_folder

NO_RETRY = Retry(NoBackoff(), 0)

_LEAVE_SERVERS_BEHIND = """
import os, sys
from tests.servers import FAST, OwnPostgres, OwnValkey, records_of, run_folder
with run_folder() as folder:
    servers = OwnPostgres(folder, FAST, records_of(folder)), OwnValkey(folder)
    servers[0].start()
    print(servers[0].pid, folder, flush=True)
    os._exit(9)
"""


def test_every_test_gets_a_migrated_database_of_its_own(database_url: str) -> None:
    with closing(psycopg2.connect(database_url)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM ai_job")
        assert cursor.fetchone() == (0,)
        cursor.execute("CREATE TABLE seen_by_one_test ()")  # in the template it would clash
        connection.commit()


@pytest.mark.parametrize("turn", [1, 2])
def test_every_test_finds_valkey_empty(redis_url: str, turn: int) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0
        client.set("left", turn)


@pytest.mark.parametrize("mode", ["fast", "kill"])
def test_postgres_comes_back_at_the_same_address_with_its_rows(
    own_postgres: OwnPostgres, mode: str
) -> None:
    url = own_postgres.url
    with closing(psycopg2.connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE kept AS SELECT 7 AS n")
        connection.commit()
    own_postgres.stop(mode)  # type: ignore[arg-type]
    with pytest.raises(psycopg2.OperationalError):
        psycopg2.connect(url)
    own_postgres.start()
    assert own_postgres.url == url
    with closing(psycopg2.connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT n FROM kept")
        assert cursor.fetchone() == (7,)


@pytest.mark.parametrize("mode", ["term", "kill"])
def test_valkey_comes_back_at_the_same_address_without_its_keys(
    own_valkey: OwnValkey, mode: str
) -> None:
    url = own_valkey.url
    with redis.Redis.from_url(url) as client:
        client.set("lost", 1)
    own_valkey.stop(mode)  # type: ignore[arg-type]
    with redis.Redis.from_url(url, retry=NO_RETRY) as client, pytest.raises(redis.ConnectionError):
        client.ping()
    own_valkey.start()
    assert own_valkey.url == url
    with redis.Redis.from_url(url) as client:
        assert client.dbsize() == 0
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}


def test_valkey_refuses_who_has_no_password(own_valkey: OwnValkey) -> None:
    port = own_valkey.url.rsplit(":", 1)[1].split("/")[0]
    with (
        redis.Redis(port=int(port), retry=NO_RETRY) as client,
        pytest.raises(redis.AuthenticationError),
    ):
        client.ping()


def test_a_run_stops_what_a_killed_run_left_and_spares_what_runs(run_directory: Path) -> None:
    root = Path(__file__).parents[2]
    killed = subprocess.run(
        [sys.executable, "-c", _LEAVE_SERVERS_BEHIND],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    pid, folder = killed.stdout.split()
    assert killed.returncode == 9, killed.stderr
    assert runs(int(pid)), "the server should have outlived its run"
    with run_folder():
        assert not Path(folder).exists()
        assert run_directory.exists()
    eventually(lambda: not runs(int(pid)))


def test_runs_that_begin_at_once_leave_each_other_alone() -> None:
    """As the processes of one run do."""

    def begin(_: int) -> bool:
        with run_folder() as folder:
            return (folder / "lock").exists()

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(begin, range(400)))
