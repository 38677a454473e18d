"""What tokens cost: a dated data file with peak hours and cache prices, in micro-dollars.

Invariant: a price that is not in the file is never guessed for the books (None); for a reservation
the dearest one stands in for it.
"""

from __future__ import annotations

import datetime as dt
import math
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import structlog

from aijobs.engine.chat import TokenUsage

_FILE = Path(__file__).parent / "prices_2026_11.toml"

log = structlog.get_logger()
_warned: set[str] = set()


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens, which is micro-dollars per token."""

    cached: float
    input: float
    output: float

    def of(self, usage: TokenUsage) -> int:
        """Micro-dollars, rounded up; counts that nobody told are none."""
        cached = min(usage.cached or 0, usage.input or 0)
        fresh = (usage.input or 0) - cached
        cost = cached * self.cached + fresh * self.input + (usage.output or 0) * self.output
        return math.ceil(round(cost, 6))


def cost_micro_usd(
    usage: TokenUsage, models: tuple[str | None, ...], at: dt.datetime
) -> int | None:
    """The cost of a call that began at `at` (aware), by the first of `models` that has a price.

    None, with one warning per model, when none has: the tokens are kept, and the price can be
    worked out later.
    """
    for model in models:
        price = _price(model, at) if model else None
        if price is not None:
            return price.of(usage)
    name = next((model for model in models if model), "")
    if name not in _warned:
        _warned.add(name)
        log.warning("price_unknown", model=name)
    return None


def dearest_micro_usd(input_tokens: int, output_tokens: int) -> int:
    """An upper bound of a call's cost: the dearest model at its dearest hour, nothing cached."""
    usage = TokenUsage(input=input_tokens, cached=0, output=output_tokens, reasoning=None)
    return max(peak.of(usage) for peak, _ in _table().values())


def bound_micro_usd(models: Iterable[str], input_tokens: int, output_tokens: int) -> int:
    """The same for a call that goes to one of `models`; one without a price may be the dearest."""
    usage = TokenUsage(input=input_tokens, cached=0, output=output_tokens, reasoning=None)
    bounds = [prices[0].of(usage) if (prices := _table().get(model)) else None for model in models]
    if not bounds or None in bounds:
        return dearest_micro_usd(input_tokens, output_tokens)
    return max(bound for bound in bounds if bound is not None)


def is_peak(at: dt.datetime) -> bool:
    """Whether peak prices hold at this moment."""
    utc = at.astimezone(dt.UTC)
    peak = _file()["peak"]
    if utc.weekday() not in peak["weekdays"] or utc.date().isoformat() in peak["holidays"]:
        return False
    return any(start <= utc.hour < end for start, end in peak["hours"])


def _price(model: str, at: dt.datetime) -> Price | None:
    prices = _table().get(model)
    if prices is None:
        return None
    peak, off_peak = prices
    return peak if is_peak(at) else off_peak


@cache
def _table() -> dict[str, tuple[Price, Price]]:
    """Model name or alias -> (peak, off-peak)."""
    table = {}
    for name, row in _file()["models"].items():
        prices = Price(**row["peak"]), Price(**row["off_peak"])
        table.update(dict.fromkeys([name, *row["aliases"]], prices))
    return table


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads(_FILE.read_text(encoding="utf-8"))
