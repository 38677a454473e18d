"""Fixtures with real servers: embedded, or those of TEST_DATABASE_URL and TEST_REDIS_URL.

RabbitMQ is the one of AMQP_URL. Only the tests that ask for it go there: programs under test do not
inherit it, and the processes of a run know it as TEST_AMQP_URL.
"""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import hypothesis
import psycopg2
import pytest
import redis

from aijobs.http.embedded.records import Records
from aijobs.models import migrate
from tests.databases import Databases
from tests.rabbitmq import Rabbit, own_rabbit
from tests.servers import FAST, OwnPostgres, OwnValkey, records_of, run_folder
from tests.world import World, settings_for, world

# No test is a stopwatch: machines are shared.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

# A run that a shell put into the background is deaf to Ctrl-C, and so would be all that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

if "AMQP_URL" in os.environ:
    os.environ["TEST_AMQP_URL"] = os.environ.pop("AMQP_URL")
_AMQP_URL = os.environ.get("TEST_AMQP_URL")


@pytest.fixture(scope="session")
def run_directory() -> Iterator[Path]:
    """A folder of this run for servers; when the run is killed, the next one clears it away."""
    with run_folder() as folder:
        yield folder


@pytest.fixture(scope="session")
def run_records(run_directory: Path) -> Records:
    """What runs for this run of the tests, for the next run to stop if this one is killed."""
    return records_of(run_directory)


@pytest.fixture
def server_folder(run_directory: Path) -> Path:
    """A folder of one test for servers or a whole stack."""
    return Path(tempfile.mkdtemp(prefix="test-", dir=run_directory))


@pytest.fixture
def own_postgres(server_folder: Path, run_records: Records) -> Iterator[OwnPostgres]:
    """A running PostgreSQL that only this test uses: stop it, start it, crash it."""
    server = OwnPostgres(server_folder, {"max_connections": "200"}, run_records)
    server.start()
    yield server
    server.stop("kill")


@pytest.fixture
def own_valkey(server_folder: Path, run_records: Records) -> Iterator[OwnValkey]:
    """A running Valkey that only this test uses: stop it, start it, crash it."""
    server = OwnValkey(server_folder, records=run_records)
    server.start()
    yield server
    server.stop("kill")


@pytest.fixture(scope="session")
def postgres_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The superuser's URL of the run's PostgreSQL."""
    if given := os.environ.get("TEST_DATABASE_URL"):
        yield given
        return
    folder: Path = request.getfixturevalue("run_directory")
    records: Records = request.getfixturevalue("run_records")
    server = OwnPostgres(folder, {**FAST, "max_connections": "200"}, records)
    server.start()
    yield server.url
    server.stop()


@pytest.fixture(scope="session")
def template_database(postgres_url: str) -> Iterator[str]:
    """The name of a database that was migrated once; nobody connects to it afterwards."""
    name = f"aijobs_template_{uuid4().hex[:12]}"
    _execute(postgres_url, f'CREATE DATABASE "{name}"')
    migrate.run(_with_database(postgres_url, name))
    yield name
    _execute(postgres_url, f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="session")
def databases(postgres_url: str, template_database: str) -> Iterator[Databases]:
    """Migrated databases, each for one test at a time."""
    with Databases(postgres_url, template_database) as pool:
        yield pool


@pytest.fixture
def database_url(databases: Databases) -> Iterator[str]:
    """A migrated database without a row, for one test."""
    url = databases.take()
    yield url
    databases.give_back(url)


@pytest.fixture
def empty_database_url(postgres_url: str) -> Iterator[str]:
    """A fresh database without any table, for tests of the migrations."""
    name = f"aijobs_empty_{uuid4().hex[:12]}"
    _execute(postgres_url, f'CREATE DATABASE "{name}"')
    yield _with_database(postgres_url, name)
    _execute(postgres_url, f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="session")
def valkey_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of the run's Valkey."""
    if given := os.environ.get("TEST_REDIS_URL"):
        yield given
        return
    folder: Path = request.getfixturevalue("run_directory")
    server = OwnValkey(folder, records=request.getfixturevalue("run_records"))
    server.start()
    yield server.url
    server.stop()


@pytest.fixture
def redis_url(valkey_url: str) -> str:
    """The run's Valkey, emptied for one test."""
    with redis.Redis.from_url(valkey_url) as client:
        client.flushdb()
    return valkey_url


@pytest.fixture(scope="session")
def amqp_url() -> str:
    """The URL of a RabbitMQ."""
    if not _AMQP_URL:
        pytest.skip("AMQP_URL is not set: give the URL of a RabbitMQ to test on")
    return _AMQP_URL


@pytest.fixture(scope="module")
def rabbit(amqp_url: str) -> Iterator[Rabbit]:
    """A RabbitMQ that only the tests of this module use."""
    with own_rabbit(amqp_url) as made:
        yield made


def _execute(url: str, sql: str) -> None:
    with closing(psycopg2.connect(url)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(sql)


def _with_database(url: str, name: str) -> str:
    return urlsplit(url)._replace(path=f"/{name}").geturl()


@pytest.fixture
def here(database_url: str, redis_url: str) -> Iterator[World]:
    """A user with study material and an engine with the offline provider, in this process."""
    with world(settings_for(database_url, redis_url)) as made:
        yield made
