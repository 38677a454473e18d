"""A table of two numbers, for tests of transactions: what was added, and how to fail."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aijobs.models import database as db
from aijobs.models import probes
from tests.integration.models.states import sql
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


def add(number: int) -> None:
    db.rows("UPDATE number SET value = value + 1 WHERE id = %(id)s", {"id": number})


def missing() -> None:
    raise KeyError("missing")


def values() -> list[int]:
    return [row["value"] for row in sql("SELECT value FROM number ORDER BY id")]


def fail_with(state: str) -> None:
    db.rows(f"DO $$ BEGIN RAISE EXCEPTION 'told to' USING ERRCODE = '{state}'; END $$")
