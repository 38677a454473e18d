"""The migrations make what the models declare, once, whoever runs them at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import psycopg2
import pytest

from aijobs.models import database as db
from aijobs.models import migrate
from aijobs.models.sql import functions
from aijobs.models.tables import TABLES
from tests.dump_schema import REFRESH, SCHEMA, dump, is_embedded

_COLUMNS = """
SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
       a.attidentity, a.attgenerated, pg_get_expr(d.adbin, d.adrelid)
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
"""

_CONSTRAINTS = """
SELECT c.relname, k.conname, k.contype, pg_get_constraintdef(k.oid)
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
WHERE k.connamespace = 'public'::regnamespace AND k.contype <> 't'
"""

_INDEXES = "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"

ASPECTS = {"columns": _COLUMNS, "constraints": _CONSTRAINTS, "indexes": _INDEXES}


@pytest.fixture
def of_the_models(empty_database_url: str) -> str:
    """A database with what the models declare."""
    db.connect_to(empty_database_url, connections=2)
    try:
        for table in TABLES:
            db.read(lambda table=table: table.create_table(safe=False))  # type: ignore[misc]
    finally:
        db.disconnect()
    return empty_database_url


def test_a_migrated_database_is_what_the_models_declare(
    database_url: str, of_the_models: str
) -> None:
    for aspect, query in ASPECTS.items():
        migrated, declared = _rows(database_url, query), _rows(of_the_models, query)
        assert len(declared) > len(TABLES), aspect
        assert migrated == declared, aspect


def test_every_table_of_the_database_has_a_model(database_url: str) -> None:
    tables = "SELECT tablename, NULL FROM pg_tables WHERE schemaname = 'public'"
    assert {row[0] for row in _rows(database_url, tables)} == {
        table._meta.table_name for table in TABLES
    }


def test_every_partial_index_is_valid_and_every_table_has_a_key(database_url: str) -> None:
    invalid = (
        "SELECT relname, 1 FROM pg_index JOIN pg_class ON oid = indexrelid WHERE NOT indisvalid"
    )
    assert _rows(database_url, invalid) == []
    keyed = {row[0] for row in _rows(database_url, _CONSTRAINTS) if row[2] == "p"}
    assert keyed == {table._meta.table_name for table in TABLES}


def test_a_first_run_applies_everything_and_a_second_nothing(empty_database_url: str) -> None:
    every = _everything()
    assert migrate.pending(empty_database_url) == every
    assert migrate.run(empty_database_url) == every
    before = {aspect: _rows(empty_database_url, query) for aspect, query in ASPECTS.items()}
    assert migrate.run(empty_database_url) == []
    assert migrate.pending(empty_database_url) == []
    assert {a: _rows(empty_database_url, query) for a, query in ASPECTS.items()} == before


def test_of_two_runs_at_once_one_applies(empty_database_url: str) -> None:
    every = _everything()
    with ThreadPoolExecutor(4) as pool:
        applied = list(pool.map(migrate.run, [empty_database_url] * 4, timeout=120))
    assert sorted(applied) == [[], [], [], every]


def test_a_run_that_fails_leaves_nothing_behind(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    (tmp_path / "0001_whole.py").write_text(
        "def up(migrator, db):\n    db.execute_sql('CREATE TABLE first_step ()')\n"
    )
    (tmp_path / "0002_broken.py").write_text(
        "def up(migrator, db):\n    db.execute_sql('CREATE TABLE first_step ()')\n"
    )
    monkeypatch.setattr(migrate, "MIGRATIONS", tmp_path)
    with pytest.raises(Exception, match="first_step"):
        migrate.run(empty_database_url)
    tables = "SELECT tablename, 1 FROM pg_tables WHERE schemaname = 'public'"
    assert _rows(empty_database_url, tables, everything=True) == []


def test_a_process_sees_what_its_database_lacks(empty_database_url: str, database_url: str) -> None:
    every = _everything()
    try:
        db.connect_to(empty_database_url, connections=2)
        assert db.read(migrate.pending_here) == every
        db.connect_to(database_url, connections=2)
        assert db.read(migrate.pending_here) == []
    finally:
        db.disconnect()


def test_the_schema_in_git_is_the_one_that_the_migrations_make(database_url: str) -> None:
    if not is_embedded(database_url):
        pytest.skip("other versions of PostgreSQL word the same schema differently")
    assert dump(database_url) == SCHEMA.read_text(encoding="utf-8"), f"refresh it: {REFRESH}"


def _everything() -> list[str]:
    """The names of all migrations, then of all functions."""
    steps = sorted(path.stem for path in migrate.MIGRATIONS.glob("[0-9]*.py"))
    return steps + [function.name for function in functions.every()]


def _rows(url: str, query: str, *, everything: bool = False) -> list[tuple[Any, ...]]:
    """The rows of a catalogue query, without the runner's own table."""
    with closing(psycopg2.connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute(query)
        found = cursor.fetchall()
    return sorted((row for row in found if everything or row[0] != "schema_migration"), key=repr)
