"""Connections that end at the n-th statement of some work, BEGIN and COMMIT counted."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg2.extensions

from aijobs.models import database as db


class Crash(BaseException):
    """The process is at an end here: nothing catches it."""


class _Script:
    """What happens at which statement of those that are counted."""

    def __init__(self) -> None:
        self.left: int | None = None
        self.after = False
        self.is_loss = False

    def is_due(self) -> bool:
        if self.left is None:
            return False
        self.left -= 1
        return self.left == 0


_script = _Script()


class _Cursor(psycopg2.extensions.cursor):
    """Counts its statements, and ends at the one that is due: before the server has it, or after it
    has done it."""

    def execute(self, query: Any, vars: Any = None) -> None:
        due = _script.is_due()
        if due and not _script.after:
            self._end()
        super().execute(query, vars)
        if due:
            self._end()

    def _end(self) -> None:
        self.connection.close()
        if _script.is_loss:
            raise psycopg2.OperationalError("server closed the connection unexpectedly")
        raise Crash


@contextmanager
def counted() -> Iterator[None]:
    """All connections of the pool that are made during the block count their statements."""
    db.disconnect()
    db.database.connect_params["cursor_factory"] = _Cursor
    try:
        yield
    finally:
        _script.left = None
        db.disconnect()
        del db.database.connect_params["cursor_factory"]


def ended_at(number: int, work: Callable[[], Any], *, after: bool, is_loss: bool = False) -> bool:
    """Do `work` until before, or after, its n-th statement; whether it came that far."""
    _script.left, _script.after, _script.is_loss = number, after, is_loss
    try:
        work()
    except Crash:
        return True
    finally:
        left, _script.left = _script.left, None
    return left is not None and left <= 0


def every_statement() -> Iterator[int]:
    """1, 2, ...: the caller leaves when nothing was interrupted any more."""
    return itertools.count(1)
