"""A user's settings and usage, as they are answered."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Literal

from pydantic import Field

from aijobs.http.openapi.shape import Moment, Shape, shown, told


class UserSettings(Shape):
    """Settings, which you change, and limits, which an administrator changes."""

    ai_enabled: Annotated[bool, shown(True)]
    time_zone: Annotated[str, told("Whose midnight ends your day.", "Asia/Shanghai")]
    next_time_zone: Annotated[str | None, told("What it will be.", None)]
    next_time_zone_at: Moment | None
    max_daily_ai_jobs: Annotated[int, told("Jobs a day, for each kind of key.", 20)]
    max_daily_token_budget: Annotated[int, told("Tokens a day, for each kind of key.", 100_000)]
    monthly_token_quota: Annotated[int | None, told("Tokens a month; null: no limit.", None)]
    max_active_jobs: Annotated[int, told("Jobs under way at once.", 5)]


class UsageOfKey(Shape):
    """What jobs on one kind of key came to."""

    api_key_mode: Literal["platform_key", "user_key"]
    jobs: Annotated[int, shown(3)]
    tokens_used: Annotated[int, shown(5210)]
    tokens_reserved: Annotated[int, told("Held for jobs that have not ended.", 9300)]
    tokens_overrun: Annotated[int, told("Used beyond what was held; counts for no limit.", 0)]
    cost_micro_usd: Annotated[int, told("Millionths of a US dollar.", 2140)]


class UsagePeriod(Shape):
    """A day or a month of yours."""

    from_: Annotated[dt.date, Field(alias="from", examples=["2026-11-29"])]
    until: Moment
    items: list[UsageOfKey]


class Usage(Shape):
    """Today and this month."""

    today: UsagePeriod
    month: UsagePeriod
