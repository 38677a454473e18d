"""Bringing a database to the newest schema: Peewee's runner under one advisory lock."""

from __future__ import annotations

from pathlib import Path

from peewee import PostgresqlDatabase, ProgrammingError
from playhouse.migrations import Runner

from aijobs.models import database as db

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


def pending_here() -> list[str]:
    """The same for the pool's database, on the thread's open connection."""
    names = {path.stem for path in MIGRATIONS.glob("[0-9]*.py")}
    try:
        found = {row["name"] for row in db.rows("SELECT name FROM schema_migration")}
    except ProgrammingError:  # no migration has ever run here
        found = set()
    return sorted(names - found)


def _opened(database_url: str) -> PostgresqlDatabase:
    database: PostgresqlDatabase = PostgresqlDatabase(database_url)
    return database


__all__ = ["pending", "pending_here", "run"]
