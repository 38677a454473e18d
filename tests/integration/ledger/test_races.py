"""Settlements, late bills, calls and creations at once: all of it is counted, once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from uuid_utils.compat import uuid7

from aijobs.engine.stages import complete
from aijobs.models.journal import finish_call, start_call
from aijobs.models.lifecycle import Lease, succeed
from tests.integration.ledger.books import Ceiling, a_day_passes, sql, watching
from tests.integration.ledger.test_machine import CALL
from tests.integration.models.rivals import race
from tests.integration.models.states import claimed, created, hasty, take_over
from tests.integration.models.test_fence import ANSWERED
from tests.world import World

TABLES = ("user_ai_usage_daily", "user_ai_usage_monthly", "platform_usage_daily")
ROUNDS = 15
#: What states.created reserves, and what ANSWERED says that a call has used.
RESERVED, TOLD = 1000, 7 + 9


def _lease(here: World) -> Lease:
    created(here)
    lease = claimed(here)
    assert lease is not None
    return lease


def _call(lease: Lease, tokens: int = 900) -> int:
    call = replace(CALL, id=uuid7(), input_bound=tokens)
    return start_call(lease, call, lease_seconds=60, patient=hasty)


def test_a_settlement_and_a_bill_at_once_count_the_call_once(here: World) -> None:
    for _ in range(ROUNDS):
        lease = _lease(here)
        call_no = _call(lease)
        works: list[Callable[[], Any]] = [
            partial(succeed, lease, output_hash="o" * 64),
            partial(finish_call, lease, call_no, ANSWERED, patient=hasty),
            partial(finish_call, lease, call_no, ANSWERED, patient=hasty),
            partial(complete, lease.job_id),
        ]
        race(works)
    for table in TABLES:
        (row,) = sql(f"SELECT tokens_used, tokens_reserved, tokens_overrun FROM {table}")
        assert tuple(row.values()) == (ROUNDS * TOLD, 0, 0), table


def test_the_bill_of_a_lost_attempt_and_the_next_ones_call_at_once(here: World) -> None:
    """One job, taken over; the first attempt's bill comes while the second one calls."""
    for _ in range(ROUNDS):
        lost = _lease(here)
        call_no = _call(lost)
        lease = take_over(here, lost.job_id)
        race([partial(finish_call, lost, call_no, ANSWERED, patient=hasty), partial(_call, lease)])
        succeed(lease, output_hash="o" * 64)
    for table in TABLES:
        (row,) = sql(f"SELECT tokens_used, tokens_reserved, tokens_overrun FROM {table}")
        assert tuple(row.values()) == (ROUNDS * (TOLD + 900), 0, 0), table


def test_jobs_that_leave_a_full_day_meet_new_ones_in_the_next(here: World) -> None:
    """Each of eight wants 8 000 more of a day that has less, even when seven have left it."""
    leases = [_lease(here) for _ in range(8)]
    a_day_passes()
    sql("UPDATE user_ai_settings SET max_daily_token_budget = 100000")
    sql("UPDATE user_ai_usage_daily SET tokens_used = 92000")
    works: list[Callable[[], Any]] = [
        *(partial(_call, lease, 9 * RESERVED) for lease in leases),
        *(partial(created, here) for _ in range(8)),
    ]
    with watching(here.engine.settings.database_url, Ceiling(daily_tokens=100_000)) as seen:
        told = race(works)
    assert all(not isinstance(outcome, Exception) for outcome in told)
    yesterday, today = sql("SELECT * FROM user_ai_usage_daily ORDER BY local_date")
    assert (yesterday["jobs"], yesterday["tokens_reserved"]) == (8, 0)
    assert (today["jobs"], today["tokens_reserved"]) == (8, 8 * RESERVED + 8 * 9 * RESERVED)
    assert seen.looks > 1
