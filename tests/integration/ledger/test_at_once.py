"""Two hundred first requests of a user at once, with room for three: three jobs come of it.

A reader on a connection of its own looks at all usage rows the whole time.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import pytest
from uuid_utils.compat import uuid7

from aijobs.engine.refusal import Refused
from aijobs.models.errors import NoRoom
from aijobs.models.journal import start_call
from aijobs.models.ledger import Budget
from tests.integration.engine.wire import route_to
from tests.integration.ledger.books import Ceiling, counts, empty, sql, watching
from tests.integration.ledger.test_machine import CALL
from tests.integration.models.states import claimed, created, hasty
from tests.world import World

AT_ONCE = 200
ROOM = 3


@dataclass(frozen=True)
class Case:
    """A limit that three jobs reach: its settings by the bound of one job, and what it refuses."""

    code: str
    settings: Callable[[int, int], dict[str, Any]]
    ceiling: Callable[[int, int], Ceiling]


CASES = {
    "daily jobs": Case(
        "DAILY_JOB_LIMIT_EXCEEDED",
        lambda tokens, cost: {"max_daily_ai_jobs": ROOM},
        lambda tokens, cost: Ceiling(daily_jobs=ROOM),
    ),
    "daily tokens": Case(
        "DAILY_TOKEN_BUDGET_EXCEEDED",
        lambda tokens, cost: {"max_daily_token_budget": ROOM * tokens},
        lambda tokens, cost: Ceiling(daily_tokens=ROOM * tokens),
    ),
    "monthly tokens, one short of a fourth job": Case(
        "QUOTA_EXCEEDED",
        lambda tokens, cost: {"monthly_token_quota": (ROOM + 1) * tokens - 1},
        lambda tokens, cost: Ceiling(monthly_tokens=(ROOM + 1) * tokens - 1),
    ),
    "active jobs": Case(
        "TOO_MANY_JOBS",
        lambda tokens, cost: {"max_active_jobs": ROOM},
        lambda tokens, cost: Ceiling(daily_jobs=ROOM),
    ),
    "platform's tokens": Case(
        "PLATFORM_TOKEN_BUDGET_EXCEEDED",
        lambda tokens, cost: {"platform_daily_tokens": ROOM * tokens},
        lambda tokens, cost: Ceiling(platform_tokens=ROOM * tokens),
    ),
    "platform's cost": Case(
        "PLATFORM_COST_BUDGET_EXCEEDED",
        lambda tokens, cost: {"platform_daily_cost_usd": ROOM * cost / 1_000_000},
        lambda tokens, cost: Ceiling(platform_cost=ROOM * cost),
    ),
}


def _bound(here: World) -> tuple[int, int]:
    """Tokens and micro-dollars that one job of this user reserves; nothing of it stays."""
    here.create()
    (held,) = sql("SELECT tokens, cost_micro_usd AS cost FROM ai_job_reservation")
    empty()
    assert held["tokens"] > 0 and held["cost"] > 0
    return held["tokens"], held["cost"]


def _all_at_once(work: Callable[[int], str]) -> Counter[str]:
    """What each of many threads came to."""
    start = threading.Barrier(AT_ONCE)

    def run(number: int) -> str:
        start.wait(timeout=60)
        return work(number)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return Counter(pool.map(run, range(AT_ONCE), timeout=240))


def _with_settings(here: World, **changes: Any) -> World:
    settings = here.engine.settings.model_copy(update=changes)
    return replace(here, engine=replace(here.engine, settings=settings))


@pytest.mark.parametrize("name", CASES)
def test_of_two_hundred_first_requests_three_are_let_in(here: World, name: str) -> None:
    here = here.with_provider(here.engine.provider, route_to("http://127.0.0.1:1"))  # has a price
    case, (tokens, cost) = CASES[name], _bound(here)
    limited = _with_settings(here, **case.settings(tokens, cost))

    def work(number: int) -> str:
        try:
            limited.create()
        except Refused as refused:
            return refused.code
        return "created"

    url = here.engine.settings.database_url
    with watching(url, case.ceiling(tokens, cost)) as seen:
        told = _all_at_once(work)
    assert told == {"created": ROOM, case.code: AT_ONCE - ROOM}
    assert counts() == {
        **dict.fromkeys(("ai_job", "ai_job_snapshot", "ai_job_reservation"), ROOM),
        **dict.fromkeys(("job_transition", "outbox_event"), ROOM),
        **dict.fromkeys(("ai_job_input", "ai_usage_log"), 0),
        **dict.fromkeys(("user_ai_usage_daily", "user_ai_usage_monthly"), 1),
        **dict.fromkeys(("platform_usage_daily", "user_ai_settings"), 1),
    }
    for table in ("user_ai_usage_daily", "user_ai_usage_monthly", "platform_usage_daily"):
        (row,) = sql(f"SELECT * FROM {table}")
        assert (row["jobs"], row["tokens_reserved"]) == (ROOM, ROOM * tokens), table
        assert row["cost_reserved"] == ROOM * cost, table
        assert [row[f"tokens_{end}"] for end in ("used", "overrun")] == [0, 0], table
    assert seen.looks > ROOM and len(seen.states) > 1  # it did look while they were at it


def test_both_kinds_of_key_are_counted_apart(here: World) -> None:
    """Three jobs a day on each."""
    limited = _with_settings(here, max_daily_ai_jobs=ROOM)
    for _ in range(ROOM):
        limited.create()
    for _ in range(ROOM):
        created(here, credential_mode="user_key")
    with pytest.raises(Refused) as refused:
        limited.create()
    assert refused.value.code == "DAILY_JOB_LIMIT_EXCEEDED"
    found = sql("SELECT credential_mode AS mode, jobs FROM user_ai_usage_daily ORDER BY 1")
    assert [tuple(row.values()) for row in found] == [("platform_key", 3), ("user_key", 3)]
    assert sql("SELECT jobs FROM platform_usage_daily") == [{"jobs": 3}]


def test_of_many_calls_at_once_as_many_begin_as_there_is_room_for(here: World) -> None:
    """Twelve jobs have 1 000 tokens each and want 2 000: the platform has 3 000 beside theirs."""
    leases = []
    for _ in range(12):
        created(here)
        leases.append(claimed(here))
    budget = Budget(tokens=12 * 1000 + 3000, cost_micro_usd=10**9)
    start = threading.Barrier(len(leases))

    def work(number: int) -> str:
        lease = leases[number]
        assert lease is not None
        start.wait(timeout=60)
        call = replace(CALL, id=uuid7(), input_bound=2000)
        try:
            start_call(lease, call, lease_seconds=60, patient=hasty, budget=budget)
        except NoRoom as refused:
            return refused.code
        return "began"

    url = here.engine.settings.database_url
    with watching(url, Ceiling(platform_tokens=15_000)) as seen, ThreadPoolExecutor(12) as pool:
        told = Counter(pool.map(work, range(12), timeout=60))
    assert told == {"began": 3, "PLATFORM_TOKEN_BUDGET_EXCEEDED": 9}
    assert counts()["ai_usage_log"] == 3
    assert sql("SELECT tokens_reserved AS r FROM platform_usage_daily") == [{"r": 15_000}]
    assert sql("SELECT sum(tokens)::int AS r FROM ai_job_reservation") == [{"r": 15_000}]
    assert seen.looks > 1
