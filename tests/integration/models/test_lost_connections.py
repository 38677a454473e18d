"""Lost connections are waited out by who is patient; faults of a statement are told apart."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from peewee import InternalError, OperationalError

from aijobs.models import database as db
from aijobs.models import probes
from aijobs.models.errors import DatabaseAway
from tests.eventually import eventually
from tests.integration.models.numbers import add, fail_with, numbers, passed, values
from tests.integration.models.states import hasty, sql
from tests.servers import OwnPostgres
from tests.world import World

__all__ = ["numbers", "passed"]


def _lose_connection() -> None:
    """End the server process behind this thread's connection, from another one."""
    row = db.row("SELECT pg_backend_pid() AS pid")
    assert row is not None
    with ThreadPoolExecutor(1) as pool:
        pool.submit(sql, "SELECT pg_terminate_backend(%(pid)s, 5000)", pid=row["pid"]).result()


def test_a_connection_that_is_lost_once_is_replaced_without_patience() -> None:
    tries = []

    def work() -> None:
        tries.append(1)
        add(1)
        if len(tries) == 1:
            _lose_connection()
        add(2)

    db.transact("project", work, patient=hasty)
    assert (values(), len(tries)) == ([1, 1], 2)


def test_connections_that_died_in_the_pool_are_not_tried_one_by_one() -> None:
    with ThreadPoolExecutor(8) as pool:
        barrier = threading.Barrier(8, timeout=60)
        list(pool.map(lambda _: db.read(barrier.wait), range(8)))
    sql(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    for _ in range(8):
        assert db.read(lambda: db.row("SELECT 1 AS one")) == {"one": 1}


def test_a_second_loss_ends_an_impatient_caller() -> None:
    tries = []

    def work() -> None:
        tries.append(1)
        _lose_connection()
        add(1)

    with pytest.raises(DatabaseAway):
        db.transact("project", work)
    assert (values(), len(tries)) == ([0, 0], 2)


def test_a_patient_caller_outlasts_many_losses() -> None:
    tries = []

    def work() -> None:
        tries.append(1)
        if len(tries) < 5:
            _lose_connection()
        add(1)

    db.transact("project", work, patient=lambda: True)
    assert (values(), len(tries)) == ([1, 0], 5)


def test_patience_ends_when_its_caller_says_so() -> None:
    tries = []

    def work() -> None:
        tries.append(1)
        _lose_connection()
        add(1)

    with pytest.raises(DatabaseAway):
        db.transact("project", work, patient=lambda: len(tries) < 4)
    assert len(tries) == 4


def test_a_loss_at_the_commit_itself_is_a_loss() -> None:
    """The answer to COMMIT never comes: the work runs again, so it has to be fenced or keyed."""
    lost: list[str] = []

    def hook(point: str) -> None:
        if point == "project.before_commit" and not lost:
            lost.append(point)
            _lose_connection()

    probes.install(hook)
    db.transact("project", lambda: add(1))
    assert values() == [1, 0]


def test_a_statement_that_takes_too_long_is_not_a_lost_connection() -> None:
    tries = []

    def work() -> None:
        tries.append(1)
        db.rows("SET LOCAL statement_timeout = '20ms'")
        db.rows("SELECT pg_sleep(20)")

    with pytest.raises(OperationalError, match="statement timeout"):
        db.transact("project", work)
    assert tries == [1]


def test_a_lock_that_is_not_had_in_time_is_not_a_lost_connection() -> None:
    def second() -> None:
        db.rows("SET LOCAL lock_timeout = '20ms'")
        add(1)

    with ThreadPoolExecutor(1) as pool:

        def first() -> None:
            add(1)
            with pytest.raises((OperationalError, InternalError), match="lock timeout"):
                pool.submit(db.transact, "reap", second).result(timeout=30)

        db.transact("project", first)
    assert values() == [1, 0]


@pytest.mark.parametrize("state", ["57014", "25006", "53100", "58030"])
def test_a_patient_caller_waits_for_a_server_under_strain(
    state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Out of time, disk or peace: nothing is wrong with the statement."""
    monkeypatch.setattr(db, "_STRAIN_PAUSE_SECONDS", 0)
    tries = []

    def work() -> None:
        tries.append(1)
        if len(tries) < 4:
            fail_with(state)
        add(1)

    db.transact("project", work, patient=lambda: True)
    assert (values(), len(tries)) == ([1, 0], 4)


@pytest.mark.parametrize(
    ("state", "tries"),
    [
        *((lost, 2) for lost in ("08006", "57P01", "57P03", "53300", "25P03")),
        *((fault, 1) for fault in ("22012", "57014", "53100", "55P03", "P0001")),
        *((clash, 11) for clash in ("40P01", "40001")),
    ],
)
def test_lost_connections_clashes_and_faults_are_told_apart(state: str, tries: int) -> None:
    assert _tries(state) == tries


def _tries(state: str) -> int:
    tries = []

    def work() -> None:
        tries.append(1)
        fail_with(state)

    with pytest.raises(Exception, match="told to"):
        db.transact("project", work)
    return len(tries)


def test_a_database_that_nobody_can_reach_is_away(here: World) -> None:
    url = here.engine.settings.database_url
    try:
        db.connect_to("postgresql://nobody@127.0.0.1:1/nowhere", connections=2)
        for work in (
            lambda: db.read(lambda: db.row("SELECT 1")),
            lambda: db.transact("create", lambda: None),
            lambda: db.statement("create", "SELECT 1", {}),
        ):
            with pytest.raises(DatabaseAway):
                work()
    finally:
        db.connect_to(url, connections=60)


def test_a_server_that_comes_back_is_waited_for(here: World, own_postgres: OwnPostgres) -> None:
    url = here.engine.settings.database_url
    asked = []

    def patient() -> bool:
        asked.append(1)
        if len(asked) == 2:
            own_postgres.start()
        return True

    try:
        db.connect_to(own_postgres.url, connections=2)
        assert db.read(lambda: db.row("SELECT 1 AS one")) == {"one": 1}
        own_postgres.stop("kill")  # its backends notice a little later
        eventually(_is_away, 30)
        assert db.read(lambda: db.row("SELECT 2 AS two"), patient=patient) == {"two": 2}
    finally:
        db.connect_to(url, connections=60)


def _is_away() -> bool:
    try:
        db.read(lambda: db.row("SELECT 1 AS one"))
    except DatabaseAway:
        return True
    return False
