"""The backoff: under its ceiling, over what the other side asked for, spread over all between."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aijobs.engine.backoff import backoff_seconds

BASES = st.floats(min_value=0.1, max_value=60)
COUNTS = st.integers(min_value=0, max_value=10_000)
SEEDS = st.integers()
ASKED = st.floats(min_value=-1e6, max_value=1e9)


class Extreme(random.Random):
    """Draws one end of what it is asked for."""

    def __init__(self, *, highest: bool) -> None:
        super().__init__()
        self._highest = highest

    def uniform(self, a: float, b: float) -> float:
        return b if self._highest else a


@given(BASES, COUNTS, SEEDS)
def test_the_delay_is_between_nothing_and_ten_minutes(base: float, count: int, seed: int) -> None:
    delay = backoff_seconds(base, count, draw=random.Random(seed))
    assert 0 <= delay <= min(600, base * 2.0 ** min(count, 64))


@given(BASES, COUNTS)
def test_the_ceiling_never_falls_as_the_retries_go_on(base: float, count: int) -> None:
    highest = Extreme(highest=True)
    now, later = (backoff_seconds(base, n, draw=highest) for n in (count, count + 1))
    assert now <= later
    assert later in (2 * now, 600)


@given(BASES, COUNTS)
def test_the_jitter_is_full(base: float, count: int) -> None:
    assert backoff_seconds(base, count, draw=Extreme(highest=False)) == 0


@pytest.mark.parametrize(
    ("base", "count", "ceiling"),
    [(2, 0, 2), (2, 1, 4), (2, 3, 16), (5, 2, 20), (1, 9, 512), (1, 10, 600), (5, 7, 600)],
)
def test_the_ceiling_doubles_up_to_the_cap(base: float, count: int, ceiling: float) -> None:
    assert backoff_seconds(base, count, draw=Extreme(highest=True)) == ceiling


@given(BASES, COUNTS, ASKED, SEEDS)
def test_what_the_other_side_asked_for_is_a_lower_bound(
    base: float, count: int, asked: float, seed: int
) -> None:
    plain = backoff_seconds(base, count, draw=random.Random(seed))
    told = backoff_seconds(base, count, retry_after=asked, draw=random.Random(seed))
    assert told == max(plain, min(asked, 900))


@pytest.mark.parametrize(
    ("asked", "delay"), [(0, 0), (-5, 0), (37, 37), (900, 900), (901, 900), (86_400, 900)]
)
def test_it_is_believed_up_to_fifteen_minutes(asked: float, delay: float) -> None:
    lowest = Extreme(highest=False)
    assert backoff_seconds(5, 3, retry_after=asked, draw=lowest) == delay


def test_without_a_seed_two_jobs_do_not_come_back_together() -> None:
    assert len({backoff_seconds(5, 6) for _ in range(50)}) > 40
