"""Transactions: probed on both sides, undone whole; nothing is held in between."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from peewee import DataError, IntegrityError, ProgrammingError

from aijobs.models import database as db
from aijobs.models import probes
from aijobs.models.errors import DatabaseAway
from tests.eventually import eventually
from tests.integration.models.numbers import add, fail_with, missing, numbers, passed, values
from tests.integration.models.states import sql
from tests.world import World

__all__ = ["numbers", "passed"]


def test_a_transaction_returns_what_its_work_returns_and_commits(passed: list[str]) -> None:
    assert db.transact("create", lambda: db.row("SELECT 1 AS one")) == {"one": 1}
    db.transact("create", lambda: add(1))
    assert values() == [1, 0]
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
        add(1)
        raise KeyError("of the caller")

    with pytest.raises(KeyError, match="of the caller"):
        db.transact("create", work)
    assert values() == [0, 0]
    assert passed == []


def test_all_statements_of_a_transaction_are_one() -> None:
    """BEGIN travels with the first: neither that one nor a later one stands for itself."""
    look = "SELECT pg_current_xact_id()::text AS id, now() AS began"
    seen = db.transact("create", lambda: [db.row(look), db.row(look)])
    assert seen[0] == seen[1] != db.read(lambda: db.row(look))

    def first_then_fault() -> None:
        add(1)
        fail_with("22012")

    for work in (first_then_fault, lambda: fail_with("22012")):
        with pytest.raises(DataError):
            db.transact("create", work)
        assert not db.in_transaction()
    assert values() == [0, 0]


@pytest.mark.parametrize("ends", [True, False])
def test_a_transaction_without_a_statement_leaves_nothing_behind(ends: bool) -> None:
    with suppress(KeyError):
        db.transact("create", (lambda: None) if ends else missing)
    look = "SELECT pg_current_xact_id()::text AS id"
    ids = db.read(lambda: [db.row(look), db.row(look)])
    assert ids[0] != ids[1], "no BEGIN was left for it"


def test_a_process_that_dies_before_the_commit_has_written_nothing() -> None:
    def hook(point: str) -> None:
        raise SystemExit(point)

    probes.install(hook)
    with pytest.raises(SystemExit):
        db.transact("create", lambda: add(1))
    probes.install(None)
    assert values() == [0, 0]


def test_a_transaction_within_another_is_a_mistake() -> None:
    with pytest.raises(RuntimeError, match="inside another"):
        db.transact("create", lambda: db.transact("claim", lambda: add(1)))
    assert values() == [0, 0]
    assert not db.in_transaction()


def test_reads_within_a_transaction_see_what_it_wrote() -> None:
    def work() -> int:
        add(1)
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


def test_nothing_is_held_between_transactions(here: World) -> None:
    """Every connection is idle, and none is in a transaction, whatever the transactions came to."""
    db.transact("create", lambda: add(1))
    db.read(lambda: db.row("SELECT 1"))
    with pytest.raises(KeyError):
        db.transact("create", missing)
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
            list(pool.map(lambda _: db.transact("create", lambda: add(1)), range(200)))
        assert values() == [200, 0]
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
                db.transact("heartbeat", lambda: add(2))
                return db.read(lambda: db.row("SELECT 1 AS one"))

        with ThreadPoolExecutor(1) as pool:

            def work() -> Any:
                add(1)
                return pool.submit(beside).result(timeout=30)

            assert db.transact("project", work) == {"one": 1}
        assert values() == [1, 1]
    finally:
        db.connect_to(url, connections=60)


def test_a_gate_is_a_transaction_beside_the_others(passed: list[str]) -> None:
    with db.gate() as within:
        assert within("UPDATE number SET value = 5 WHERE id = 2 RETURNING value", {}) == (5,)
        assert within("UPDATE number SET value = 6 WHERE id = 2", {}) is None
        db.transact("create", lambda: add(1))
        assert values() == [1, 0]
    assert values() == [1, 6]
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
            missing()

    with pytest.raises(KeyError):
        a_pass()
    assert values() == [0, 0]


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
