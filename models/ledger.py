"""The ledger: who may still ask for how much, and what has been spent (contract: limits.md).

Invariant: `used - overrun + reserved <= limit` in every row at every instant. The functions of
migrations/0003_ledger.sql write the rows; a job's end settles by itself, and so does a late bill.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from peewee import DatabaseError

from aijobs.models import database as db
from aijobs.models.columns import columns_of
from aijobs.models.errors import NoRoom
from aijobs.models.tables import AiJob

_REFUSED = "AJ001"
_OF_THE_PLATFORM = "PLATFORM_"


@dataclass(frozen=True, slots=True)
class Bound:
    """What a call costs at most: tokens of prompt and answer, and micro-dollars."""

    tokens: int
    cost_micro_usd: int


@dataclass(frozen=True, slots=True)
class UserLimits:
    """What a user may ask for who has no limits of their own; None is no limit."""

    daily_jobs: int = 20
    daily_tokens: int = 100_000
    monthly_tokens: int | None = None
    active: int = 5


@dataclass(frozen=True, slots=True)
class Budget:
    """What the platform's key may spend in a UTC day."""

    tokens: int = 10_000_000
    cost_micro_usd: int = 500_000_000

    def params(self) -> dict[str, Any]:
        """Parameters of the ledger's statements."""
        return {"platform_tokens": self.tokens, "platform_cost": self.cost_micro_usd}


@dataclass(frozen=True, slots=True)
class Gate:
    """What is decided under the lock of a user's settings; `active_jobs` is counted up to the
    limit, and `circuit_trouble` is whether any circuit is not closed."""

    ai_enabled: bool
    max_active_jobs: int
    active_jobs: int
    circuit_trouble: bool

    @property
    def is_full(self) -> bool:
        """Whether no further job may be under way."""
        return self.active_jobs >= self.max_active_jobs


def pass_gate(user_id: UUID, defaults: UserLimits) -> Gate:
    """Lock the user's settings (made with `defaults`) until the caller's transaction ends."""
    row = db.row(_GATE, columns_of(defaults) | {"user_id": user_id})
    assert row is not None
    return Gate(**row)


def fits_a_day(job: AiJob, bound: Bound, budget: Budget) -> bool:
    """Whether a call of the job would have room in a day and a month in which nothing else is."""
    params = columns_of(bound) | budget.params()
    params |= {"user_id": job.user_id, "mode": job.credential_mode}
    row = db.row(_FITS_A_DAY, params)
    return row is None or bool(row["fits"])


def platform_days(days: int) -> list[dict[str, Any]]:
    """What the platform's key has spent in each of the last UTC days, today first: rows as of
    platform_usage_daily, zeros for a day without jobs."""
    return db.rows(_PLATFORM_DAYS, {"days": days})


@contextmanager
def refusals() -> Iterator[None]:
    """Turn the ledger's refusal of a statement into NoRoom."""
    try:
        yield
    except DatabaseError as error:
        if db.sql_state(error) != _REFUSED:
            raise
        raise NoRoom(str(error).splitlines()[0]) from None


def seconds_without_room(job: AiJob, refused: NoRoom) -> float:
    """How long until the day ends whose row had no room for an attempt, which began when the job
    was locked: the user's, or the platform's. 0 when it has ended since, or the user's limits have
    changed. With the lock of the user's settings it holds until the caller's transaction ends.
    """
    of_the_platform = refused.code.startswith(_OF_THE_PLATFORM)
    params = {"user_id": job.user_id, "utc": of_the_platform, "since": job.locked_at}
    row = db.row(_WITHOUT_ROOM, params)
    assert row is not None
    return float(row["seconds"])


_GATE = """
SELECT * FROM user_gate(%(user_id)s, %(daily_jobs)s, %(daily_tokens)s, %(monthly_tokens)s,
                        %(active)s)
"""

# The midnight of the zone that acted then: at midnight another one may have taken its place.
_WITHOUT_ROOM = """
SELECT CASE WHEN mine.limits_changed_at > %(since)s THEN 0 ELSE greatest(0, extract(epoch FROM
           (date_trunc('day', %(since)s::timestamptz AT TIME ZONE mine.zone) + interval '1 day')
           AT TIME ZONE mine.zone - clock_timestamp())) END AS seconds
FROM (SELECT s.limits_changed_at,
             CASE WHEN %(utc)s THEN 'UTC' WHEN s.next_time_zone_at <= %(since)s
                  THEN s.next_time_zone ELSE s.time_zone END AS zone
      FROM user_ai_settings s WHERE s.user_id = %(user_id)s FOR SHARE) mine
"""

_FITS_A_DAY = """
SELECT %(tokens)s <= least(max_daily_token_budget, monthly_token_quota)
       AND (%(mode)s <> 'platform_key'
            OR (%(tokens)s <= %(platform_tokens)s AND %(cost_micro_usd)s <= %(platform_cost)s))
       AS fits
FROM user_ai_settings WHERE user_id = %(user_id)s
"""

_PLATFORM_DAYS = """
SELECT day.utc_date, coalesce(spent.jobs, 0) AS jobs,
       coalesce(spent.tokens_used, 0) AS tokens_used,
       coalesce(spent.tokens_reserved, 0) AS tokens_reserved,
       coalesce(spent.tokens_overrun, 0) AS tokens_overrun,
       coalesce(spent.cost_used, 0) AS cost_used,
       coalesce(spent.cost_reserved, 0) AS cost_reserved,
       coalesce(spent.cost_overrun, 0) AS cost_overrun
FROM (SELECT (now() AT TIME ZONE 'UTC')::date - ago AS utc_date
      FROM generate_series(0, %(days)s - 1) AS ago) day
LEFT JOIN platform_usage_daily spent USING (utc_date)
ORDER BY day.utc_date DESC
"""
