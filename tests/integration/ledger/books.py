"""The ledger's rows as tests read them, and a reader that watches them all the while."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg2

from aijobs.models import database as db

#: What must be empty for a test to begin, and what a refused request must leave as it was.
TABLES = (
    *("ai_job", "ai_job_snapshot", "ai_job_input", "ai_job_reservation", "job_transition"),
    *("outbox_event", "ai_usage_log", "user_ai_usage_daily", "user_ai_usage_monthly"),
    *("platform_usage_daily", "user_ai_settings"),
)
_NET = "{0}_used - {0}_overrun + {0}_reserved"
_ROWS = " UNION ALL ".join(
    f"SELECT '{name}', jobs, {_NET.format('tokens')}, {_NET.format('cost')} FROM {name}"
    for name in ("user_ai_usage_daily", "user_ai_usage_monthly", "platform_usage_daily")
)
_ANY = 10**15


def sql(text: str, **params: Any) -> list[dict[str, Any]]:
    """A statement of the test's own."""
    return db.read(lambda: db.rows(text, params or None))


def counts() -> dict[str, int]:
    """How many rows each of TABLES has."""
    text = " UNION ALL ".join(f"SELECT '{name}' AS name, count(*) FROM {name}" for name in TABLES)
    return {row["name"]: row["count"] for row in sql(text)}


def empty() -> None:
    """No job, and no user that anybody has heard of; the learner's material stays."""
    sql("; ".join(f"DELETE FROM {name}" for name in TABLES))


def a_day_passes() -> None:
    """All that is stored of the ledger lies a day further back (in two steps: no two rows may meet
    on the way)."""
    for table, columns in _DATES:
        for step in (36500, -36501):
            changes = ", ".join(f"{column} = {column} + ({step})" for column in columns)
            sql(f"UPDATE {table} SET {changes}")
    sql("UPDATE user_ai_settings SET next_time_zone_at = next_time_zone_at - interval '1 day'")


_DATES = (
    ("user_ai_usage_daily", ("local_date",)),
    ("platform_usage_daily", ("utc_date",)),
    ("ai_job_reservation", ("user_date", "platform_date")),
    ("ai_usage_log", ("user_date", "platform_date")),
)


@dataclass(frozen=True)
class Ceiling:
    """What no row may exceed; what is left out has no limit here."""

    daily_jobs: int = _ANY
    daily_tokens: int = _ANY
    monthly_tokens: int = _ANY
    platform_tokens: int = _ANY
    platform_cost: int = _ANY

    def of(self, table: str) -> tuple[int, int, int]:
        """Jobs, tokens and cost."""
        return {
            "user_ai_usage_daily": (self.daily_jobs, self.daily_tokens, _ANY),
            "user_ai_usage_monthly": (_ANY, self.monthly_tokens, _ANY),
            "platform_usage_daily": (_ANY, self.platform_tokens, self.platform_cost),
        }[table]


def over(found: list[tuple[Any, ...]], ceiling: Ceiling) -> list[tuple[Any, ...]]:
    """The rows (table, jobs, net tokens, net cost) that break the ledger's inequality."""
    return [
        row
        for row in found
        if any(value > most for value, most in zip(row[1:], ceiling.of(row[0]), strict=True))
    ]


def rows_over(ceiling: Ceiling) -> list[tuple[Any, ...]]:
    """The rows that break it now."""
    return over([tuple(row.values()) for row in sql(_NAMED)], ceiling)


_NAMED = f"SELECT * FROM ({_ROWS}) AS net (name, jobs, tokens, cost)"


@dataclass
class Watcher:
    """What a reader has seen: how often it looked, what differed, and what broke the rule."""

    looks: int = 0
    states: set[tuple[Any, ...]] = field(default_factory=set)
    broken: list[Any] = field(default_factory=list)


@contextmanager
def watching(url: str, ceiling: Ceiling) -> Iterator[Watcher]:
    """Read all usage rows continuously on a connection of its own, during the block."""
    seen, stop = Watcher(), threading.Event()

    def watch() -> None:
        with closing(psycopg2.connect(url)) as connection:
            connection.autocommit = True
            with connection.cursor() as cursor:
                while not stop.is_set():
                    cursor.execute(_ROWS)
                    found = cursor.fetchall()
                    seen.looks += 1
                    seen.states.add(tuple(sorted(found)))
                    seen.broken += over(found, ceiling)

    reader = threading.Thread(target=watch)
    reader.start()
    try:
        yield seen
    finally:
        stop.set()
        reader.join(timeout=60)
    assert seen.broken == []
