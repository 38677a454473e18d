"""A follow-up that no day has room for is not waited for: the fault before it is the end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.integration.engine.wire import attempt, books, bound, causes
from tests.integration.ledger.books import a_day_passes, sql
from tests.scripted_provider import ScriptedProvider
from tests.world import World

TRUNCATED = {"finish_reason": "length"}


def _limited(column: str, tokens: int) -> None:
    sql(f"UPDATE user_ai_settings SET {column} = %(tokens)s", tokens=tokens)


def _first_bound() -> int:
    """What the job has reserved: the bound of its first call."""
    (held,) = sql("SELECT tokens FROM ai_job_reservation")
    return int(held["tokens"])


@pytest.mark.parametrize("column", ["max_daily_token_budget", "monthly_token_quota"])
def test_a_follow_up_beyond_the_users_limits_is_not_waited_for(
    wired: World, server: ScriptedProvider, column: str
) -> None:
    """A truncated answer is asked for again with twice as many tokens, which no day has."""
    job = wired.create()
    _limited(column, _first_bound() + 1)
    server.enqueue("ok", **TRUNCATED)
    ended = attempt(wired, job)
    assert (ended.lifecycle_status, ended.error_code) == ("failed", "OUTPUT_TRUNCATED")
    assert (ended.retry_count, len(server.calls)) == (0, 1)
    (home,) = sql("SELECT settled_at IS NOT NULL AS settled, tokens FROM ai_job_reservation")
    assert home == {"settled": True, "tokens": 200}


def test_a_follow_up_beyond_the_platforms_day_is_not_waited_for(
    wired: World, server: ScriptedProvider
) -> None:
    job = wired.create()
    few = {"platform_daily_tokens": _first_bound() + 1}
    settings = wired.engine.settings.model_copy(update=few)
    small = replace(wired, engine=replace(wired.engine, settings=settings))
    server.enqueue("ok", **TRUNCATED)
    assert attempt(small, job).error_code == "OUTPUT_TRUNCATED"


def test_a_follow_up_that_another_day_allows_is_waited_for(
    wired: World, server: ScriptedProvider
) -> None:
    """The first call has used up this day; the next one is enough for the second."""
    job = wired.create()
    first = _first_bound()
    _limited("max_daily_token_budget", 2 * first)
    server.enqueue("ok", usage={"prompt_tokens": first, "completion_tokens": 0}, **TRUNCATED)
    waiting = attempt(wired, job)
    assert (waiting.lifecycle_status, causes(job.id)[-1]) == ("queued", "hand_back:budget")
    a_day_passes()
    ended = attempt(wired, job)
    assert ended.lifecycle_status == "succeeded"
    assert [sum(bound(call)) > first for call in server.calls] == [False, True]
    assert len(books(job.id)) == 2


def test_a_first_call_beyond_the_limits_waits_for_them_to_be_raised(
    wired: World, server: ScriptedProvider
) -> None:
    """Nothing has gone wrong with the job: an administrator has lowered the limit."""
    job = wired.create()
    server.enqueue("accept_then_reset")
    attempt(wired, job)
    _limited("max_daily_token_budget", 1)
    assert attempt(wired, job).lifecycle_status == "queued"
    assert causes(job.id)[-1] == "hand_back:budget"
    _limited("max_daily_token_budget", 10**9)
    assert attempt(wired, job).lifecycle_status == "succeeded"
