"""Deadlocks and serialization failures: a transaction that meets one is retried whole."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from peewee import OperationalError

from aijobs.models import database as db
from tests.integration.models.numbers import add, fail_with, numbers, passed, values
from tests.integration.models.states import sql

__all__ = ["numbers", "passed"]


def test_a_deadlock_is_retried_whole() -> None:
    """Two transactions lock the same two rows in opposite order, and wait until both hold one."""
    both_hold_one = threading.Barrier(2, timeout=60)
    tries: list[int] = []

    def work(order: tuple[int, int], first: list[bool]) -> None:
        tries.append(order[0])
        add(order[0])
        if first:
            first.pop()
            both_hold_one.wait()
        add(order[1])

    with ThreadPoolExecutor(2) as pool:
        done = [
            pool.submit(
                db.transact, "project", lambda order=order, first=[True]: work(order, first)
            )
            for order in ((1, 2), (2, 1))
        ]
        for one in done:
            one.result(timeout=60)
    assert values() == [2, 2]
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
        add(1)

    db.transact("project", work)
    assert (values(), len(tries)) == ([11, 0], 2)


@pytest.mark.parametrize("state", ["40P01", "40001"])
def test_a_clash_that_never_ends_is_given_up(state: str) -> None:
    tries = []

    def work() -> None:
        tries.append(1)
        add(1)
        fail_with(state)

    with pytest.raises(OperationalError):
        db.transact("project", work)
    assert len(tries) == 11
    assert values() == [0, 0]


def test_a_single_statement_is_retried_on_a_clash_too() -> None:
    tries = []

    def work() -> str:
        tries.append(1)
        if len(tries) < 4:
            fail_with("40001")
        return "done"

    assert db.autocommit("sweep", work) == "done"
