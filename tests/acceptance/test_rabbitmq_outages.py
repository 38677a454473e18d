"""A hundred jobs under way when RabbitMQ goes away or loses its queues: all finish, nobody is asked
twice, and no process ends.

RabbitMQ itself stays up for others; the processes reach it over a line that is cut.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from dramatiq.common import dq_name

from aijobs.actors.queues import SYSTEM, TOPICS
from aijobs.http.embedded.records import Records
from aijobs.models import database as db
from tests.acceptance.installation import Round, System, installed
from tests.eventually import eventually
from tests.line import Line
from tests.rabbitmq import Rabbit

pytestmark = pytest.mark.long

BRIEF_SECONDS = 5.0
MINUTE_SECONDS = 60.0


@pytest.fixture(scope="module")
def line(rabbit: Rabbit) -> Iterator[Line]:
    with Line(*rabbit.place) as line:
        yield line


@pytest.fixture(scope="module")
def system(
    run_directory: Path, run_records: Records, rabbit: Rabbit, line: Line
) -> Iterator[System]:
    folder = run_directory / "outages-of-rabbitmq"
    folder.mkdir()
    with installed(folder, run_records, AMQP_URL=rabbit.url_at(line.port)) as made:
        yield made


@pytest.mark.parametrize("seconds", [BRIEF_SECONDS, MINUTE_SECONDS])
def test_rabbitmq_absent(system: System, line: Line, seconds: float) -> None:
    round = Round(system)
    line.cut()
    try:
        assert not system.fleet.is_ready()
        round.jobs.append(system.ask())
        _pass(seconds)
    finally:
        line.mend()
    round.outlived()
    assert _counted_faults() == 0
    assert [name for name, log in system.fleet.logs().items() if "Traceback" in log] == []


def test_connections_closed_and_accepted_again_at_once(system: System, line: Line) -> None:
    round = Round(system)
    line.cut()
    line.mend()
    round.outlived()
    assert _counted_faults() == 0


def test_messages_purged(system: System, rabbit: Rabbit) -> None:
    round = Round(system)
    assert sum(rabbit.purge(name) for name in (*TOPICS, SYSTEM)) > 0
    round.outlived()


def test_queues_deleted(system: System, rabbit: Rabbit) -> None:
    round = Round(system)
    lost = sum(rabbit.delete(name) for name in (*TOPICS, SYSTEM))
    assert lost > 0
    for name in (*TOPICS, SYSTEM):
        rabbit.delete(dq_name(name))
    round.outlived()
    assert all(rabbit.listeners(name) for name in (*TOPICS, SYSTEM, dq_name(SYSTEM)))


def _counted_faults() -> int:
    faults = "SELECT count(*) AS n FROM outbox_event WHERE attempt_count > 0 OR status = 'dead'"
    return int(db.read(lambda: db.rows(faults))[0]["n"])


def _pass(seconds: float) -> None:
    until = time.monotonic() + seconds
    eventually(lambda: time.monotonic() >= until, seconds + 10)
