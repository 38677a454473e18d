"""Bringing a database to the newest schema: Peewee's runner under one advisory lock."""

from __future__ import annotations

from pathlib import Path

from peewee import PostgresqlDatabase
from playhouse.migrations import Runner

MIGRATIONS = Path(__file__).parent / "migrations"
_LOCK = 0x61696A6F6273  # "aijobs"


def run(database_url: str) -> list[str]:
    """Apply what is pending, in order; returns the names applied.

    All of it is one transaction: of two callers one waits and then finds nothing to do.
    """
    with _opened(database_url) as database:
        database.execute_sql("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        return list(Runner(database, str(MIGRATIONS)).up())


def pending(database_url: str) -> list[str]:
    """Names of the migrations that the database lacks."""
    with _opened(database_url) as database:
        return [
            step.name for step in Runner(database, str(MIGRATIONS)).status() if not step.applied
        ]


def _opened(database_url: str) -> PostgresqlDatabase:
    database: PostgresqlDatabase = PostgresqlDatabase(database_url)
    return database


__all__ = ["pending", "run"]
