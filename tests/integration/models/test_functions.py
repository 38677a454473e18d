"""Hot statements are functions in the database: made once, found by name, planned for any number of
rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import psycopg2
import pytest
from peewee import ProgrammingError

from aijobs.models import database as db
from aijobs.models import migrate, outbox
from aijobs.models.lifecycle import claim
from aijobs.models.sql import functions, load
from aijobs.models.sql.functions import Function
from tests.integration.models.states import QUEUE, sql
from tests.world import World, settings_for, world

KNOWN = [("quiz_generation", 1)]
_NO_REDIS = "redis://127.0.0.1:1/0"


def _function(name: str) -> Function:
    made = functions.of(name)
    assert made is not None
    return made


def _execute(url: str, text: str) -> None:
    with closing(psycopg2.connect(url)) as connection:
        connection.autocommit = True
        connection.cursor().execute(text)


def _claim() -> UUID | None:
    job = claim(QUEUE, known=KNOWN, holder="test", lease_seconds=60)
    return None if job is None else job.id


@pytest.fixture
def own(database_url: str) -> Iterator[World]:
    """A world whose database this test may change, on one session."""
    with world(settings_for(database_url, _NO_REDIS), connections=1) as made:
        yield made


def test_a_statement_is_run_by_its_function(own: World) -> None:
    job, url = own.create(), own.engine.settings.database_url
    made = _function("claim")
    _execute(url, f"ALTER FUNCTION {made.name} RENAME TO gone")
    with pytest.raises(ProgrammingError, match=made.name):
        _claim()
    _execute(url, f"ALTER FUNCTION gone RENAME TO {made.name}")
    assert _claim() == job.id


def test_what_is_absent_is_pending_and_made_by_the_next_migration(own: World) -> None:
    url = own.engine.settings.database_url
    absent = [_function("claim").name, _function("succeed").name]
    for name in absent:
        _execute(url, f"DROP FUNCTION {name}")
    assert db.read(migrate.pending_here) == absent
    assert migrate.pending(url) == absent
    assert migrate.run(url) == absent
    assert migrate.run(url) == []
    assert db.read(migrate.pending_here) == []


def test_a_function_out_of_reach_is_absent(empty_database_url: str) -> None:
    """A statement looks for it along the path; one that stands elsewhere does not help."""
    migrate.run(empty_database_url)
    name = _function("claim").name
    moved = f"CREATE SCHEMA elsewhere; ALTER FUNCTION {name} SET SCHEMA elsewhere"
    _execute(empty_database_url, moved)
    assert migrate.pending(empty_database_url) == [name]


def test_the_functions_of_other_code_stay_and_keep_working(own: World) -> None:
    """A rolling deploy: the old code's session has its plan, then a migration adds a column."""
    url, made = own.engine.settings.database_url, _function("claim")
    older = made.name[:-12] + "0" * 12
    _execute(url, made.definition.replace(made.name, older))
    params = {"queue_name": QUEUE, "holder": "older", "lease_seconds": 60, "lane": "engine"}
    params |= {"routes": "{}", "types": ["quiz_generation"], "versions": [1]}

    def claimed_by_older_code() -> list[db.Row]:
        return sql(made.call.replace(made.name, older), **params)

    first, second, third = own.create(), own.create(), own.create()
    assert [row["id"] for row in claimed_by_older_code()] == [first.id]
    _execute(url, "ALTER TABLE ai_job ADD COLUMN of_tomorrow integer DEFAULT 7")
    assert migrate.run(url) == []
    assert [(row["id"], row["of_tomorrow"]) for row in claimed_by_older_code()] == [(second.id, 7)]
    assert _claim() == third.id


def test_a_call_without_a_parameter_is_refused(own: World) -> None:
    with pytest.raises(KeyError, match="queue_name"):
        sql(load("claim"), holder="test")


@pytest.fixture
def as_role(own: World) -> Iterator[World]:
    """The world as seen by an application role: rows, and nothing else."""
    url, name = own.engine.settings.database_url, f"aijobs_app_{uuid4().hex[:12]}"
    _execute(
        url,
        f"CREATE ROLE {name} LOGIN PASSWORD 'app'; GRANT USAGE ON SCHEMA public TO {name};"
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {name}",
    )
    place = urlsplit(url)
    server = place.netloc.rpartition("@")[2]
    db.connect_to(place._replace(netloc=f"{name}:app@{server}").geturl(), connections=2)
    yield own
    db.disconnect()
    _execute(url, f"DROP OWNED BY {name}; DROP ROLE {name}")


def test_a_role_that_may_only_read_and_write_rows_runs_a_whole_job(as_role: World) -> None:
    job = as_role.finish(as_role.create())
    assert (job.lifecycle_status, job.completed_at is not None) == ("succeeded", True)
    events = outbox.claim_events("test", 10)
    outbox.publish("test", [event.id for event in events])
    assert sql("SELECT count(*) AS published FROM outbox_event WHERE status = 'published'") == [
        {"published": len(events)}
    ]


_JOBS = """
INSERT INTO ai_job (id, user_id, job_type, definition_version, target_type, target_id, queue_name,
                    priority, rank_at, available_at, request_hash, credential_mode, prompt_version,
                    input_schema_version, output_schema_version, max_retry_count, timeout_seconds)
SELECT gen_random_uuid(), gen_random_uuid(), 'quiz_generation', 1, 'user', gen_random_uuid(),
       'ai-interactive', 50, now(), now() - number * interval '1 s', '', 'platform_key', 'v1', '1',
       '1', 3, 120
FROM generate_series(1, 5000) number;
INSERT INTO outbox_event (event_type, aggregate_id, dedupe_key, payload, rank_at)
SELECT 'test', id, id, '{}', rank_at FROM ai_job
"""


def _rows_read(table: str, work: Any) -> int:
    """How many rows of a table, and of its indexes, one call makes the server read."""
    count = (
        "SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) AS read FROM pg_stat_xact_user_tables "
        "WHERE relname = %(table)s"
    )

    def counted() -> int:
        before = db.rows(count, {"table": table})[0]["read"]
        work()
        return int(db.rows(count, {"table": table})[0]["read"]) - int(before)

    return db.transact("claim", counted)


def test_a_plan_that_was_made_for_an_empty_table_does_for_a_backlog(own: World) -> None:
    """The worst there is: an empty table that was vacuumed, so that a scan of it costs nothing."""
    params: dict[str, Any] = {"queue_name": QUEUE, "lane": "engine", "routes": "{}"}
    params |= {"types": ["quiz_generation"], "versions": [1]}
    one_claim = params | {"holder": "test", "lease_seconds": 60}

    def claims() -> None:
        assert len(db.rows(load("claim"), one_claim)) == 1

    def relays() -> None:
        assert len(db.rows(load("relay_claim"), {"relay": "test", "limit": 20})) == 20

    sql("VACUUM ANALYZE ai_job")
    sql("VACUUM ANALYZE outbox_event")
    for _ in range(8):
        sql(load("claim"), **one_claim)
        sql(load("relay_claim"), relay="test", limit=20)
    _execute(own.engine.settings.database_url, _JOBS)
    for _ in range(3):
        assert 0 < _rows_read("ai_job", claims) <= 100
        assert 0 < _rows_read("outbox_event", relays) <= 100
    assert 0 < _rows_read("ai_job", lambda: db.rows(load("claimable_left"), params)) <= 100
