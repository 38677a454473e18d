"""Transactions: retried whole where that helps, probed on both sides; nothing held in between."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from peewee import DataError, IntegrityError, InternalError, OperationalError, ProgrammingError

from aijobs.models import database as db
from aijobs.models import probes
from aijobs.models.errors import DatabaseAway
from tests.eventually import eventually
from tests.integration.models.states import hasty, sql
from tests.servers import OwnPostgres
from tests.world import World


@pytest.fixture(autouse=True)
def numbers(here: World) -> None:
    """A table with the rows (1, 0) and (2, 0)."""
    sql("CREATE TABLE IF NOT EXISTS number (id int PRIMARY KEY, value int); DELETE FROM number")
    sql("INSERT INTO number VALUES (1, 0), (2, 0)")


@pytest.fixture
def passed() -> Iterator[list[str]]:
    """The probes that were passed."""
    seen: list[str] = []
    probes.install(seen.append)
    yield seen
    probes.install(None)


def _add(number: int) -> None:
    db.rows("UPDATE number SET value = value + 1 WHERE id = %(id)s", {"id": number})


def _missing() -> None:
    raise KeyError("missing")


def _values() -> list[int]:
    return [row["value"] for row in sql("SELECT value FROM number ORDER BY id")]


def _fail_with(state: str) -> None:
    db.rows(f"DO $$ BEGIN RAISE EXCEPTION 'told to' USING ERRCODE = '{state}'; END $$")


# One transaction.


def test_a_transaction_returns_what_its_work_returns_and_commits(passed: list[str]) -> None:
    assert db.transact("create", lambda: db.row("SELECT 1 AS one")) == {"one": 1}
    db.transact("create", lambda: _add(1))
    assert _values() == [1, 0]
    assert passed == ["create.before_commit", "create.after_commit"] * 2


def test_a_statement_is_a_transaction_of_its_own(passed: list[str]) -> None:
    changed = "UPDATE number SET value = %(value)s RETURNING id"
    assert len(db.statement("sweep", changed, {"value": 7})) == 2
    assert passed == ["sweep.before_commit", "sweep.after_commit"]


def test_a_read_passes_no_probe(passed: list[str]) -> None:
    assert db.read(lambda: db.row("SELECT 1 AS one")) == {"one": 1}
    assert db.read(lambda: db.row("SELECT 1 WHERE false")) is None
    assert passed == []


def test_every_probe_of_the_list_has_two_sides() -> None:
    sides = [point.rsplit(".", 1) for point in probes.POINTS]
    for name in {name for name, _ in sides}:
        kinds = sorted(side for found, side in sides if found == name)
        assert kinds in (["after_commit", "before_commit"], ["after_send", "before_send"]), name


def test_what_work_raises_rolls_back_and_passes_through(passed: list[str]) -> None:
    def work() -> None:
        _add(1)
        raise KeyError("of the caller")

    with pytest.raises(KeyError, match="of the caller"):
        db.transact("create", work)
    assert _values() == [0, 0]
    assert passed == []


def test_all_statements_of_a_transaction_are_one() -> None:
    """BEGIN travels with the first: neither that one nor a later one stands for itself."""
    look = "SELECT pg_current_xact_id()::text AS id, now() AS began"
    seen = db.transact("create", lambda: [db.row(look), db.row(look)])
    assert seen[0] == seen[1] != db.read(lambda: db.row(look))

    def first_then_fault() -> None:
        _add(1)
        _fail_with("22012")

    for work in (first_then_fault, lambda: _fail_with("22012")):
        with pytest.raises(DataError):
            db.transact("create", work)
        assert not db.in_transaction()
    assert _values() == [0, 0]


@pytest.mark.parametrize("ends", [True, False])
def test_a_transaction_without_a_statement_leaves_nothing_behind(ends: bool) -> None:
    with suppress(KeyError):
        db.transact("create", (lambda: None) if ends else _missing)
    look = "SELECT pg_current_xact_id()::text AS id"
    ids = db.read(lambda: [db.row(look), db.row(look)])
    assert ids[0] != ids[1], "no BEGIN was left for it"


def test_a_process_that_dies_before_the_commit_has_written_nothing() -> None:
    def hook(point: str) -> None:
        raise SystemExit(point)

    probes.install(hook)
    with pytest.raises(SystemExit):
        db.transact("create", lambda: _add(1))
    probes.install(None)
    assert _values() == [0, 0]


def test_a_transaction_within_another_is_a_mistake() -> None:
    with pytest.raises(RuntimeError, match="inside another"):
        db.transact("create", lambda: db.transact("claim", lambda: _add(1)))
    assert _values() == [0, 0]
    assert not db.in_transaction()


def test_reads_within_a_transaction_see_what_it_wrote() -> None:
    def work() -> int:
        _add(1)
        row = db.read(lambda: db.row("SELECT value FROM number WHERE id = 1"))
        assert row is not None
        assert db.in_transaction()
        return int(row["value"])

    assert db.transact("create", work) == 1


def test_a_faulty_statement_is_not_tried_again() -> None:
    tries = []

    def work() -> None:
        tries.append(1)
        db.rows("SELECT nonsense")

    with pytest.raises(ProgrammingError):
        db.transact("create", work)
    with pytest.raises(ProgrammingError):
        db.autocommit("create", work, patient=lambda: True)
    with pytest.raises(IntegrityError):
        db.statement("create", "INSERT INTO number VALUES (1, 0)", {})
    assert len(tries) == 2


# Deadlocks and serialization failures.


def test_a_deadlock_is_retried_whole() -> None:
    """Two transactions lock the same two rows in opposite order, and wait until both hold one."""
    both_hold_one = threading.Barrier(2, timeout=60)
    tries: list[int] = []

    def work(order: tuple[int, int], first: list[bool]) -> None:
        tries.append(order[0])
        _add(order[0])
        if first:
            first.pop()
            both_hold_one.wait()
        _add(order[1])

    with ThreadPoolExecutor(2) as pool:
        done = [
            pool.submit(
                db.transact, "project", lambda order=order, first=[True]: work(order, first)
            )
            for order in ((1, 2), (2, 1))
        ]
        for one in done:
            one.result(timeout=60)
    assert _values() == [2, 2]
    assert len(tries) == 3, "exactly one of them was the victim, once"


def test_a_serialization_failure_is_retried_whole() -> None:
    tries = []

    def work() -> None:
        tries.append(1)
        db.rows("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        db.rows("SELECT * FROM number")
        if len(tries) == 1:
            with ThreadPoolExecutor(1) as pool:
                pool.submit(sql, "UPDATE number SET value = 10 WHERE id = 1").result(timeout=30)
        _add(1)

    db.transact("project", work)
    assert (_values(), len(tries)) == ([11, 0], 2)


@pytest.mark.parametrize("state", ["40P01", "40001"])
def test_a_clash_that_never_ends_is_given_up(state: str) -> None:
    tries = []

    def work() -> None:
        tries.append(1)
        _add(1)
        _fail_with(state)

    with pytest.raises(OperationalError):
        db.transact("project", work)
    assert len(tries) == 11
    assert _values() == [0, 0]


def test_a_single_statement_is_retried_on_a_clash_too() -> None:
    tries = []

    def work() -> str:
        tries.append(1)
        if len(tries) < 4:
            _fail_with("40001")
        return "done"

    assert db.autocommit("sweep", work) == "done"


# Lost connections.


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
        _add(1)
        if len(tries) == 1:
            _lose_connection()
        _add(2)

    db.transact("project", work, patient=hasty)
    assert (_values(), len(tries)) == ([1, 1], 2)


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
        _add(1)

    with pytest.raises(DatabaseAway):
        db.transact("project", work)
    assert (_values(), len(tries)) == ([0, 0], 2)


def test_a_patient_caller_outlasts_many_losses() -> None:
    tries = []

    def work() -> None:
        tries.append(1)
        if len(tries) < 5:
            _lose_connection()
        _add(1)

    db.transact("project", work, patient=lambda: True)
    assert (_values(), len(tries)) == ([1, 0], 5)


def test_patience_ends_when_its_caller_says_so() -> None:
    tries = []

    def work() -> None:
        tries.append(1)
        _lose_connection()
        _add(1)

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
    db.transact("project", lambda: _add(1))
    assert _values() == [1, 0]


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
        _add(1)

    with ThreadPoolExecutor(1) as pool:

        def first() -> None:
            _add(1)
            with pytest.raises((OperationalError, InternalError), match="lock timeout"):
                pool.submit(db.transact, "reap", second).result(timeout=30)

        db.transact("project", first)
    assert _values() == [1, 0]


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
            _fail_with(state)
        _add(1)

    db.transact("project", work, patient=lambda: True)
    assert (_values(), len(tries)) == ([1, 0], 4)


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
        _fail_with(state)

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


# The pool.


def test_nothing_is_held_between_transactions(here: World) -> None:
    """Every connection is idle, and none is in a transaction, whatever the transactions came to."""
    db.transact("create", lambda: _add(1))
    db.read(lambda: db.row("SELECT 1"))
    with pytest.raises(KeyError):
        db.transact("create", _missing)
    with pytest.raises(ProgrammingError):
        db.read(lambda: db.rows("SELECT nonsense"))
    states = sql(
        "SELECT DISTINCT state FROM pg_stat_activity WHERE datname = current_database() "
        "AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
    )
    assert states in ([], [{"state": "idle"}])


def test_many_threads_share_a_few_connections(here: World) -> None:
    url = here.engine.settings.database_url
    try:
        db.connect_to(url, connections=3)
        eventually(lambda: _open() == 1, 30)
        with ThreadPoolExecutor(40) as pool:
            list(pool.map(lambda _: db.transact("create", lambda: _add(1)), range(200)))
        assert _values() == [200, 0]
        assert _open() <= 3
    finally:
        db.connect_to(url, connections=60)


def test_a_pool_that_stays_empty_is_a_database_that_is_away(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = here.engine.settings.database_url
    monkeypatch.setattr(db, "_POOL_WAIT_SECONDS", 0.05)
    try:
        db.connect_to(url, connections=1)
        with ThreadPoolExecutor(1) as pool:

            def work() -> None:
                with pytest.raises(DatabaseAway, match="no pooled connection"):
                    pool.submit(sql, "SELECT 1").result(timeout=30)

            db.transact("create", work)
            assert pool.submit(sql, "SELECT 1 AS one").result(timeout=30) == [{"one": 1}]
    finally:
        db.connect_to(url, connections=60)


def test_a_thread_beside_the_pool_is_not_starved_by_it(here: World) -> None:
    url = here.engine.settings.database_url
    try:
        db.connect_to(url, connections=1)

        def beside() -> Any:
            with db.reserved_connection():
                db.transact("heartbeat", lambda: _add(2))
                return db.read(lambda: db.row("SELECT 1 AS one"))

        with ThreadPoolExecutor(1) as pool:

            def work() -> Any:
                _add(1)
                return pool.submit(beside).result(timeout=30)

            assert db.transact("project", work) == {"one": 1}
        assert _values() == [1, 1]
    finally:
        db.connect_to(url, connections=60)


def test_a_gate_is_a_transaction_beside_the_others(passed: list[str]) -> None:
    with db.gate() as within:
        assert within("UPDATE number SET value = 5 WHERE id = 2 RETURNING value", {}) == (5,)
        assert within("UPDATE number SET value = 6 WHERE id = 2", {}) is None
        db.transact("create", lambda: _add(1))
        assert _values() == [1, 0]
    assert _values() == [1, 6]
    assert passed == [
        "create.before_commit",
        "create.after_commit",
        "pass.before_commit",
        "pass.after_commit",
    ]


def test_a_gate_is_undone_with_what_failed_behind_it() -> None:
    def a_pass() -> None:
        with db.gate() as within:
            within("UPDATE number SET value = 5 WHERE id = 2", {})
            _missing()

    with pytest.raises(KeyError):
        a_pass()
    assert _values() == [0, 0]


def test_idle_connections_are_closed_at_the_end(here: World) -> None:
    url = here.engine.settings.database_url
    db.connect_to(url, connections=2)
    db.read(lambda: db.row("SELECT 1"))
    db.disconnect()
    try:
        db.connect_to(url, connections=60)
        eventually(lambda: _open() == 1, 30)
    finally:
        db.connect_to(url, connections=60)


def _open() -> int:
    found = sql(
        "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() "
        "AND application_name = 'aijobs'"
    )
    return int(found[0]["n"])
