"""Costs against hand calculations from the published prices of November 2026."""

from __future__ import annotations

import datetime as dt

import pytest

from aijobs.engine.chat import TokenUsage
from aijobs.engine.pricing import cost_micro_usd, dearest_micro_usd, is_peak

OFF_PEAK = dt.datetime(2026, 11, 29, 14, 0, tzinfo=dt.UTC)  # a Sunday
PEAK = dt.datetime(2026, 11, 30, 3, 59, tzinfo=dt.UTC)  # a Monday


def usage(tokens: int, cached: int, output: int) -> TokenUsage:
    return TokenUsage(input=tokens, cached=cached, output=output, reasoning=0)


def test_a_million_of_each_costs_the_published_price() -> None:
    million = usage(1_000_000, 0, 1_000_000)
    assert cost_micro_usd(million, ("deepseek-flash",), OFF_PEAK) == 750_000
    assert cost_micro_usd(million, ("deepseek-flash",), PEAK) == 1_500_000
    assert cost_micro_usd(million, ("deepseek-v4-pro",), OFF_PEAK) == 2_640_000


def test_cached_input_has_its_own_price() -> None:
    # 600 cached x 0.003 + 400 x 0.15 + 200 x 0.60 = 1.8 + 60 + 120, rounded up
    assert cost_micro_usd(usage(1000, 600, 200), ("deepseek-flash",), OFF_PEAK) == 182


def test_more_cached_than_input_is_all_cached() -> None:
    assert cost_micro_usd(usage(100, 900, 0), ("deepseek-v4-pro",), OFF_PEAK) == 3  # 2.2


def test_the_model_that_answered_counts_before_the_one_asked() -> None:
    models = ("deepseek-v4-flash", "deepseek-v4-pro")
    assert cost_micro_usd(usage(1_000_000, 0, 0), models, OFF_PEAK) == 150_000
    assert cost_micro_usd(usage(1_000_000, 0, 0), (None, "deepseek-v4-pro"), OFF_PEAK) == 660_000


def test_an_unknown_model_has_no_cost_in_the_books() -> None:
    assert cost_micro_usd(usage(5, 0, 5), ("somebody-9", "else-1"), OFF_PEAK) is None


def test_a_reservation_takes_the_dearest_price() -> None:
    assert dearest_micro_usd(1_000_000, 1_000_000) == 1_320_000 + 3_960_000


def test_nothing_costs_nothing() -> None:
    assert cost_micro_usd(usage(0, 0, 0), ("deepseek-flash",), PEAK) == 0


@pytest.mark.parametrize(
    ("moment", "peak"),
    [
        ("2026-11-30T00:59:59+00:00", False),
        ("2026-11-30T01:00:00+00:00", True),
        ("2026-11-30T04:00:00+00:00", False),
        ("2026-11-30T06:00:00+00:00", True),
        ("2026-11-30T09:59:59+00:00", True),
        ("2026-11-30T10:00:00+00:00", False),
        ("2026-11-30T09:30:00+08:00", True),  # 01:30 UTC
        ("2026-11-28T02:00:00+00:00", False),  # a Saturday
        ("2026-10-01T02:00:00+00:00", False),  # a public holiday
    ],
)
def test_peak_hours_are_utc_on_working_days(moment: str, peak: bool) -> None:
    assert is_peak(dt.datetime.fromisoformat(moment)) is peak
