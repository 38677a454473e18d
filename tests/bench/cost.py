"""What one job costs PostgreSQL, counted by the server itself: statements and writing commits."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import psycopg2

from aijobs.models import migrate
from tests.bench.pipeline import workers
from tests.eventually import eventually
from tests.world import settings_for, world

JOBS = 200


def cost_per_job(database_url: str, redis_url: str) -> dict[str, Any]:
    """Over a stream of jobs, all processes together, BEGIN and COMMIT counted as statements."""
    migrate.run(database_url)
    with closing(psycopg2.connect(database_url)) as watch:
        watch.autocommit = True
        cursor = watch.cursor()
        cursor.execute("CREATE EXTENSION pg_stat_statements")
        settings = settings_for(database_url, redis_url)
        with world(settings) as made, workers(database_url, redis_url):
            made.create(questionCount=5)
            eventually(lambda: _completed(cursor) == 1, 60)
            cursor.execute("SELECT pg_stat_statements_reset()")
            before = _transactions(cursor)
            for _ in range(JOBS):
                made.create(questionCount=5)
            eventually(lambda: _completed(cursor) == JOBS + 1, 120)
            commits = _transactions(cursor) - before
            statements = _statements(cursor)
    return {
        "statements_per_job": round(statements / JOBS, 1),
        "commits_per_job": round(commits / JOBS, 1),
    }


def _completed(cursor: Any) -> int:
    return _number(cursor, "SELECT count(*) FROM ai_job WHERE completed_at IS NOT NULL")


def _transactions(cursor: Any) -> int:
    """Transactions that wrote: only they take an id."""
    return _number(cursor, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")


def _statements(cursor: Any) -> int:
    """All but this benchmark's own looks."""
    return _number(
        cursor,
        "SELECT sum(calls) FROM pg_stat_statements "
        "WHERE query NOT LIKE '%pg_s%' AND query NOT LIKE 'SELECT count(*) FROM ai_job%'",
    )


def _number(cursor: Any, sql: str) -> int:
    cursor.execute(sql)
    return int(cursor.fetchone()[0])
