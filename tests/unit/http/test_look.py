"""A look at the database is waited for so long and no longer, and by one thread."""

from __future__ import annotations

import threading
from collections.abc import Callable

from aijobs.http.metrics import Look
from aijobs.models.errors import DatabaseAway
from aijobs.models.observed import Observed, ObservedDay
from tests.eventually import eventually

FOUND = Observed([], [], [], ObservedDay(), {})


def test_what_is_found_is_told_and_each_look_is_a_new_one() -> None:
    looks: list[int] = []

    def ask() -> Observed:
        looks.append(1)
        return FOUND

    look = Look(ask)
    assert [look.found() for _ in range(3)] == [FOUND] * 3
    assert len(looks) == 3


def test_a_database_that_is_away_is_no_error() -> None:
    def ask() -> Observed:
        raise DatabaseAway("gone")

    assert Look(ask).found() is None


def test_one_that_hangs_is_asked_once_until_it_answers() -> None:
    answers, asked = threading.Event(), threading.Semaphore(0)
    look = Look(_hanging(answers, asked), seconds=0.05)
    assert [look.found() for _ in range(4)] == [None] * 4
    assert asked.acquire(blocking=False)
    assert not asked.acquire(blocking=False)
    answers.set()
    assert eventually(look.found) == FOUND


def _hanging(answers: threading.Event, asked: threading.Semaphore) -> Callable[[], Observed]:
    def ask() -> Observed:
        asked.release()
        answers.wait()
        return FOUND

    return ask
