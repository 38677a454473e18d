"""What users set and have used: the AI switch, the time zone, the limits shown, the usage rows.

Invariant: a user's settings row is made once, and whoever changes it or decides by it holds its
lock.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from peewee import DatabaseError

from aijobs.models import database as db
from aijobs.models.columns import columns_of
from aijobs.models.ledger import UserLimits, pass_gate
from aijobs.models.lifecycle import cancel_all_of

_UNKNOWN_ZONE = "22023"  # invalid_parameter_value


@dataclass(frozen=True, slots=True)
class UserSettings:
    """A user's settings as they act now; `next_time_zone` acts from `next_time_zone_at` on."""

    ai_enabled: bool
    max_daily_ai_jobs: int
    max_daily_token_budget: int
    monthly_token_quota: int | None
    max_active_jobs: int
    time_zone: str
    next_time_zone: str | None
    next_time_zone_at: dt.datetime | None


@dataclass(frozen=True, slots=True)
class Period:
    """A user's day or month: its first date, when it ends, and one usage row per kind of key."""

    begins: dt.date
    ends_at: dt.datetime
    rows: Sequence[dict[str, Any]]


class UnknownTimeZone(Exception):
    """PostgreSQL does not know this time zone."""


def is_ai_enabled(user_id: UUID) -> bool:
    """Whether the user has left AI on; without settings it is."""
    row = db.row(
        "SELECT ai_enabled FROM user_ai_settings WHERE user_id = %(user_id)s", {"user_id": user_id}
    )
    return row is None or bool(row["ai_enabled"])


def settings_of(user_id: UUID, defaults: UserLimits) -> UserSettings:
    """The user's settings, or those that a first job would make."""
    row = db.row(_SETTINGS, columns_of(defaults) | {"user_id": user_id})
    assert row is not None
    return UserSettings(**row)


def change_settings(
    user_id: UUID, defaults: UserLimits, *, ai_enabled: bool | None, time_zone: str | None
) -> list[UUID]:
    """Change what is given, in one transaction; the active jobs that have been asked to stop.

    Switching AI off cancels every job of the user: queued ones at once, active ones on request. A
    time zone acts from the next midnight of the one that acts now. Raises UnknownTimeZone.
    """
    params = {"user_id": user_id, "ai_enabled": ai_enabled, "new_zone": time_zone}

    def work() -> list[UUID]:
        pass_gate(user_id, defaults)
        db.rows(_CHANGE, params)
        if ai_enabled is not False:
            return []
        return cancel_all_of(user_id, reason="AI was switched off", actor=f"user:{user_id}")

    try:
        return db.transact("settings", work)
    except DatabaseError as error:
        if db.sql_state(error) != _UNKNOWN_ZONE:
            raise
        raise UnknownTimeZone(time_zone) from None


def usage_of(user_id: UUID) -> tuple[Period, Period]:
    """The user's present day and month."""
    when = db.row(_PERIODS, {"user_id": user_id})
    assert when is not None
    day = db.rows(_DAILY, {"user_id": user_id, "date": when["user_date"]})
    month = db.rows(_MONTHLY, {"user_id": user_id, "month": when["month"]})
    return (
        Period(when["user_date"], when["day_ends_at"], day),
        Period(when["month"], when["month_ends_at"], month),
    )


def seconds_to_next_month(user_id: UUID) -> float:
    """How long the user's present month lasts."""
    row = db.row(_MONTH_LEFT, {"user_id": user_id})
    assert row is not None
    return float(row["seconds"])


_SETTINGS = """
SELECT coalesce(mine.ai_enabled, true) AS ai_enabled,
       coalesce(mine.max_daily_ai_jobs, %(daily_jobs)s) AS max_daily_ai_jobs,
       coalesce(mine.max_daily_token_budget, %(daily_tokens)s) AS max_daily_token_budget,
       CASE WHEN mine.user_id IS NULL THEN %(monthly_tokens)s::bigint
            ELSE mine.monthly_token_quota END AS monthly_token_quota,
       coalesce(mine.max_active_jobs, %(active)s) AS max_active_jobs,
       coalesce(ledger_zone(mine), 'UTC') AS time_zone,
       CASE WHEN mine.next_time_zone_at > now() THEN mine.next_time_zone END AS next_time_zone,
       CASE WHEN mine.next_time_zone_at > now() THEN mine.next_time_zone_at END
           AS next_time_zone_at
FROM (SELECT) AS nobody LEFT JOIN user_ai_settings mine ON mine.user_id = %(user_id)s
"""

# The zone that acts now becomes the old one. Its own name again takes a change back.
_CHANGE = """
UPDATE user_ai_settings mine
SET ai_enabled = coalesce(%(ai_enabled)s, mine.ai_enabled),
    time_zone = now_is.zone,
    next_time_zone = CASE
        WHEN %(new_zone)s::text IS NULL THEN
            CASE WHEN mine.next_time_zone_at > now() THEN mine.next_time_zone END
        WHEN %(new_zone)s <> now_is.zone THEN %(new_zone)s END,
    next_time_zone_at = CASE
        WHEN %(new_zone)s::text IS NULL THEN
            CASE WHEN mine.next_time_zone_at > now() THEN mine.next_time_zone_at END
        WHEN %(new_zone)s <> now_is.zone AND now() AT TIME ZONE %(new_zone)s IS NOT NULL THEN
            (date_trunc('day', now() AT TIME ZONE now_is.zone) + interval '1 day')
            AT TIME ZONE now_is.zone END
FROM (SELECT s.user_id, ledger_zone(s) AS zone FROM user_ai_settings s
      WHERE s.user_id = %(user_id)s) AS now_is
WHERE mine.user_id = now_is.user_id
"""

_PERIODS = """
SELECT today.user_date, today.month,
       (today.user_date + 1)::timestamp AT TIME ZONE zone.name AS day_ends_at,
       (today.month + interval '1 month') AT TIME ZONE zone.name AS month_ends_at
FROM (SELECT coalesce((SELECT ledger_zone(s) FROM user_ai_settings s
                       WHERE s.user_id = %(user_id)s), 'UTC') AS name) zone
CROSS JOIN LATERAL ledger_today(%(user_id)s) today
"""

_MONTH_LEFT = f"""
SELECT extract(epoch FROM month_ends_at - now())::float AS seconds FROM ({_PERIODS}) periods
"""

_DAILY = """
SELECT * FROM user_ai_usage_daily
WHERE user_id = %(user_id)s AND local_date = %(date)s ORDER BY credential_mode
"""

_MONTHLY = """
SELECT * FROM user_ai_usage_monthly
WHERE user_id = %(user_id)s AND month = %(month)s ORDER BY credential_mode
"""
