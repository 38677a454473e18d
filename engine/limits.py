"""Limits as the settings say them, and the bound of a call that they are held against."""

from __future__ import annotations

from collections.abc import Iterable

from aijobs.engine.chat import Message, Route
from aijobs.engine.pricing import bound_micro_usd
from aijobs.engine.settings import Settings
from aijobs.models.circuit import CircuitRules
from aijobs.models.ledger import Bound, Budget, UserLimits

_MICRO = 1_000_000


def user_limits(settings: Settings) -> UserLimits:
    """Of a user who has none of their own."""
    return UserLimits(
        daily_jobs=settings.max_daily_ai_jobs,
        daily_tokens=settings.max_daily_token_budget,
        monthly_tokens=settings.monthly_token_quota,
        active=settings.max_active_jobs,
    )


def platform_budget(settings: Settings) -> Budget:
    """Of the platform's key for a UTC day."""
    cost = round(settings.platform_daily_cost_usd * _MICRO)
    return Budget(settings.platform_daily_tokens, cost)


def circuit_rules(settings: Settings) -> CircuitRules:
    """When circuits open and how they are probed."""
    return CircuitRules(
        failures=settings.circuit_failures,
        open_seconds=settings.circuit_open_seconds,
        probes=settings.circuit_probes,
    )


def prompt_bound(messages: Iterable[Message]) -> int:
    """An upper bound of a prompt's tokens: its bytes, since no token is shorter than one."""
    return sum(len(message.content.encode()) for message in messages)


def call_bound(routes: Iterable[Route], input_tokens: int, output_tokens: int) -> Bound:
    """What a call costs at most, whichever of these routes it takes, at its dearest hour."""
    models = [route.model for route in routes]
    cost = bound_micro_usd(models, input_tokens, output_tokens)
    return Bound(input_tokens + output_tokens, cost)
