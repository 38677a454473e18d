"""The ledger's rows: what is reserved, used and overrun per day and month. Cost in micro-dollars.

Written by the functions of migrations/0003_ledger.sql alone.
"""

from __future__ import annotations

from typing import Any

from peewee import BigIntegerField, CompositeKey, DateField, IntegerField, TextField, UUIDField

from aijobs.models.tables.base import Table, default, rule

_ZERO = default("0")


class _Usage(Table):
    """What jobs came to: the columns of all three tables; no table of its own."""

    jobs = IntegerField(constraints=_ZERO)
    tokens_reserved = BigIntegerField(constraints=_ZERO)
    tokens_used = BigIntegerField(constraints=_ZERO)
    tokens_overrun = BigIntegerField(constraints=_ZERO)
    cost_reserved = BigIntegerField(constraints=_ZERO)
    cost_used = BigIntegerField(constraints=_ZERO)
    cost_overrun = BigIntegerField(constraints=_ZERO)


def _no_row_is_negative(table: str) -> Any:
    columns = [name for name in _Usage._meta.columns if name != "id"]
    return rule(f"{table}_sign", " AND ".join(f"{column} >= 0" for column in columns))


class UserAiUsageDaily(_Usage):
    """A user's local day, per whose key paid."""

    user_id = UUIDField()
    local_date = DateField()
    credential_mode = TextField()

    class Meta:
        table_name = "user_ai_usage_daily"
        primary_key = CompositeKey("user_id", "local_date", "credential_mode")
        constraints = [_no_row_is_negative("user_ai_usage_daily")]


class UserAiUsageMonthly(_Usage):
    """A user's local month (its first day), per whose key paid."""

    user_id = UUIDField()
    month = DateField()
    credential_mode = TextField()

    class Meta:
        table_name = "user_ai_usage_monthly"
        primary_key = CompositeKey("user_id", "month", "credential_mode")
        constraints = [_no_row_is_negative("user_ai_usage_monthly")]


class PlatformUsageDaily(_Usage):
    """What all jobs on the platform's key come to in a UTC day."""

    utc_date = DateField(primary_key=True)

    class Meta:
        table_name = "platform_usage_daily"
        constraints = [_no_row_is_negative("platform_usage_daily")]
