"""Bringing a database to the newest schema: Peewee's runner under one advisory lock, and after it
the functions of models/sql/functions.py that are absent.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from peewee import PostgresqlDatabase, ProgrammingError
from playhouse.migrations import Runner

from aijobs.models import database as db
from aijobs.models.sql import functions

MIGRATIONS = Path(__file__).parent / "migrations"
_LOCK = 0x61696A6F6273  # "aijobs"


def run(database_url: str) -> list[str]:
    """Apply what is pending, in order; returns the names of migrations and functions applied.

    All of it is one transaction: of two callers one waits and then finds nothing to do.
    """
    with _opened(database_url) as database:
        database.execute_sql("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        applied = list(Runner(database, str(MIGRATIONS)).up())
        absent = _absent(row[0] for row in database.execute_sql(_FUNCTIONS))
        for function in absent:
            database.execute_sql(function.definition.replace("%", "%%"))
        return applied + [function.name for function in absent]


def pending(database_url: str) -> list[str]:
    """Names of the migrations and functions that the database lacks."""
    with _opened(database_url) as database:
        steps = Runner(database, str(MIGRATIONS)).status()
        absent = _absent(row[0] for row in database.execute_sql(_FUNCTIONS))
        names = [step.name for step in steps if not step.applied]
        return names + [function.name for function in absent]


def pending_here() -> list[str]:
    """The same for the pool's database, on the thread's open connection."""
    names = {path.stem for path in MIGRATIONS.glob("[0-9]*.py")}
    try:
        found = {row["name"] for row in db.rows("SELECT name FROM schema_migration")}
    except ProgrammingError:  # no migration has ever run here
        found = set()
    absent = _absent(row["proname"] for row in db.rows(_FUNCTIONS))
    return sorted(names - found) + [function.name for function in absent]


# Where the statements find a function: in the first schema of the path that has one.
_FUNCTIONS = f"""
SELECT proname FROM pg_proc
WHERE proname ^@ '{functions.PREFIX}' AND pg_function_is_visible(oid)
"""


def _absent(found: Iterable[str]) -> list[functions.Function]:
    names = set(found)
    return [function for function in functions.every() if function.name not in names]


def _opened(database_url: str) -> PostgresqlDatabase:
    database: PostgresqlDatabase = PostgresqlDatabase(database_url)
    return database


__all__ = ["pending", "pending_here", "run"]
