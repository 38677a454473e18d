"""What goes wrong around a transaction: rivals on connections of their own, and lost answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from peewee import OperationalError

from aijobs.models import database as db
from aijobs.models import probes
from aijobs.models.errors import ModelError
from tests.eventually import eventually
from tests.world import whole_database

T = TypeVar("T")

_BLOCKED = """
SELECT count(*) FILTER (WHERE wait_event_type = 'Lock') AS number FROM pg_stat_activity
WHERE datname = current_database()
"""


def blocked() -> int:
    """How many connections to the database wait for a lock now, seen from one beside the pool."""
    with db.reserved_connection():
        row = db.read(lambda: db.row(_BLOCKED))
    assert row is not None
    return int(row["number"])


def beaten(winner: Callable[[], Any], loser: Callable[[], T]) -> tuple[dict[str, list[str]], Any]:
    """Let `loser` wait for a lock that `winner` holds, then commit the winner's work.

    Returns the database as the winner left it, and what the loser returned or the ModelError that
    it raised.
    """
    with ThreadPoolExecutor(1) as pool:

        def work() -> tuple[dict[str, list[str]], Any]:
            winner()
            db.rows("SET CONSTRAINTS ALL IMMEDIATE")  # settle now what a commit would
            left = whole_database()
            started = pool.submit(settled, loser)
            eventually(lambda: blocked() == 1, 30)
            return left, started

        left, started = db.transact("claim", work)
        return left, started.result(timeout=60)


def settled(work: Callable[[], T]) -> T | ModelError:
    """What `work` returns, or how the models refused it. Any other error passes through."""
    try:
        return work()
    except ModelError as refusal:
        return refusal


def race(works: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run all at once; what each returned, or how it was refused, in order."""
    start = threading.Barrier(len(works))

    def run(work: Callable[[], Any]) -> Any:
        start.wait(timeout=60)
        return settled(work)

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works, timeout=240))


def losing(point: str, meanwhile: Callable[[], Any] = lambda: None) -> None:
    """When this probe is passed next, the connection is lost: after a commit, its answer."""

    def hook(reached: str) -> None:
        if reached == point:
            probes.install(None)
            meanwhile()
            raise OperationalError("server closed the connection unexpectedly")

    probes.install(hook)
