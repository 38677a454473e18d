"""Answers of the admin API."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, Literal

from pydantic import Field

from aijobs.http.openapi.shape import Absent, Id, Moment, Shape, shown, told


class CircuitOfRoute(Shape):
    """The circuit of one of the platform's routes."""

    provider: Annotated[str, shown("openai")]
    model: Annotated[str, shown("deepseek-flash")]
    state: Literal["closed", "open", "half_open"]
    epoch: Annotated[int, told("Grows by one with each change.", 3)]
    consecutive_failures: Annotated[int, shown(0)]
    cause: Annotated[Absent[str], told("Why it is not closed.", "PROVIDER_UNAVAILABLE")] = None
    opened_at: Absent[Moment] = None
    half_open_at: Absent[Moment] = None
    next_probe_at: Annotated[
        Absent[Moment], told("When it is probed by itself; left out while somebody holds it open.")
    ] = None
    changed_at: Absent[Moment] = None
    changed_by: Annotated[Absent[str], told("A worker, or `admin:` and a user's id.")] = None
    job_types: Annotated[list[str], told("What goes there.", ["quiz_generation"])]


class Circuits(Shape):
    """All of them."""

    items: list[CircuitOfRoute]


class PlatformDay(Shape):
    """What jobs on the platform's key came to in a UTC day."""

    date: Annotated[dt.date, shown("2026-11-29")]
    jobs: Annotated[int, shown(412)]
    tokens_used: Annotated[int, shown(812_300)]
    tokens_reserved: Annotated[int, told("Held for jobs that have not ended.", 41_000)]
    tokens_overrun: Annotated[int, told("Used beyond what was held; counts for no limit.", 0)]
    cost_used_micro_usd: Annotated[int, told("Millionths of a US dollar.", 245_000)]
    cost_reserved_micro_usd: Annotated[int, shown(12_000)]
    cost_overrun_micro_usd: Annotated[int, shown(0)]


class PlatformBudget(Shape):
    """The platform's limits of a UTC day, and its last days."""

    token_limit: Annotated[int, shown(10_000_000)]
    cost_limit_micro_usd: Annotated[int, shown(500_000_000)]
    until: Annotated[Moment, told("When today ends.")]
    days: Annotated[list[PlatformDay], told("Today first.")]


class UserLimits(Shape):
    """What a user may ask for."""

    user_id: Id
    max_daily_ai_jobs: Annotated[int, told("Jobs a day, for each kind of key.", 20)]
    max_daily_token_budget: Annotated[int, told("Tokens a day, for each kind of key.", 100_000)]
    monthly_token_quota: Annotated[int | None, told("Tokens a month; null: no limit.", None)]
    max_active_jobs: Annotated[int, told("Jobs under way at once.", 5)]


class Change(Shape):
    """Who changed what."""

    id: Annotated[str, shown("17")]
    at: Moment
    who: Annotated[str, shown("admin:0199d3a2-7c41-7a50-8f0e-3b5a86c1d2e4")]
    what: Annotated[str, shown("user.limits")]
    target: Annotated[str, shown("0199d3a2-7c41-7a50-8f0e-3b5a86c1d2e4")]
    before: Annotated[dict[str, Any], Field(examples=[{"maxActiveJobs": 5}])]
    after: Annotated[dict[str, Any], Field(examples=[{"maxActiveJobs": 10}])]


class Invariant(Shape):
    """What always holds, and how often it does not."""

    invariant: Annotated[str, shown("ledger_day_over_limit")]
    meaning: Annotated[str, shown("No day of a user goes beyond the user's daily limits.")]
    violations: Annotated[int, shown(0)]


class Diagnosis(Shape):
    """The invariants of the system."""

    healthy: Annotated[bool, told("Whether all of them hold.", True)]
    items: list[Invariant]
