"""The Retry-After header."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aijobs.engine.gateway.retry_after import retry_after

NOW = datetime(2026, 11, 29, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        (" 30 ", 30.0),
        ("0.5", 0.5),
        ("0", 0.0),
        ("900", 900.0),
        ("901", 900.0),
        ("86400", 900.0),
        ("Sun, 29 Nov 2026 12:01:30 GMT", 90.0),
        ("Sun, 29 Nov 2026 13:01:30 GMT", 900.0),
        ("Sun, 29 Nov 2026 11:59:00 GMT", 0.0),
        (None, None),
        ("", None),
        ("abc", None),
        ("-5", None),
        ("nan", None),
        ("inf", None),
        ("1e3", None),
        ("٣", None),
        ("9" * 400, None),
        ("Sun, 99 Nov 2026 12:01:30 GMT", None),
    ],
)
def test_seconds_or_a_date_up_to_a_quarter_of_an_hour(
    header: str | None, seconds: float | None
) -> None:
    assert retry_after(header, NOW) == seconds


@given(st.text(max_size=40))
def test_whatever_it_says_it_is_a_sane_number_or_nothing(header: str) -> None:
    seconds = retry_after(header, NOW)
    assert seconds is None or 0 <= seconds <= 900
