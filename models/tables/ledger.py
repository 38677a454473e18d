"""The ledger's rows: what is reserved, used and overrun per day and month. Cost in micro-dollars.

Written by the functions of migrations/0003_ledger.sql alone.
"""

from __future__ import annotations

from typing import Any

from peewee import BigIntegerField, CompositeKey, DateField, IntegerField, TextField, UUIDField

from aijobs.models.tables.base import Table, default, rule

_ZERO = default("0")


def _no_row_is_negative(table: str) -> Any:
    columns = "jobs tokens_reserved tokens_used tokens_overrun cost_reserved cost_used cost_overrun"
    return rule(f"{table}_sign", " AND ".join(f"{column} >= 0" for column in columns.split()))


class UserAiUsageDaily(Table):
    """A user's local day, per whose key paid."""

    user_id = UUIDField()
    local_date = DateField()
    credential_mode = TextField()
    jobs = IntegerField(constraints=_ZERO)
    tokens_reserved = BigIntegerField(constraints=_ZERO)
    tokens_used = BigIntegerField(constraints=_ZERO)
    tokens_overrun = BigIntegerField(constraints=_ZERO)
    cost_reserved = BigIntegerField(constraints=_ZERO)
    cost_used = BigIntegerField(constraints=_ZERO)
    cost_overrun = BigIntegerField(constraints=_ZERO)

    class Meta:
        table_name = "user_ai_usage_daily"
        primary_key = CompositeKey("user_id", "local_date", "credential_mode")
        constraints = [_no_row_is_negative("user_ai_usage_daily")]


class UserAiUsageMonthly(Table):
    """A user's local month (its first day), per whose key paid."""

    user_id = UUIDField()
    month = DateField()
    credential_mode = TextField()
    jobs = IntegerField(constraints=_ZERO)
    tokens_reserved = BigIntegerField(constraints=_ZERO)
    tokens_used = BigIntegerField(constraints=_ZERO)
    tokens_overrun = BigIntegerField(constraints=_ZERO)
    cost_reserved = BigIntegerField(constraints=_ZERO)
    cost_used = BigIntegerField(constraints=_ZERO)
    cost_overrun = BigIntegerField(constraints=_ZERO)

    class Meta:
        table_name = "user_ai_usage_monthly"
        primary_key = CompositeKey("user_id", "month", "credential_mode")
        constraints = [_no_row_is_negative("user_ai_usage_monthly")]


class PlatformUsageDaily(Table):
    """What all jobs on the platform's key come to in a UTC day."""

    utc_date = DateField(primary_key=True)
    jobs = IntegerField(constraints=_ZERO)
    tokens_reserved = BigIntegerField(constraints=_ZERO)
    tokens_used = BigIntegerField(constraints=_ZERO)
    tokens_overrun = BigIntegerField(constraints=_ZERO)
    cost_reserved = BigIntegerField(constraints=_ZERO)
    cost_used = BigIntegerField(constraints=_ZERO)
    cost_overrun = BigIntegerField(constraints=_ZERO)

    class Meta:
        table_name = "platform_usage_daily"
        constraints = [_no_row_is_negative("platform_usage_daily")]
