"""Bills that come when their job has ended: all of the money is counted, and no limit is broken."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from uuid_utils.compat import uuid7

from aijobs.models import database as db
from aijobs.models.errors import NoRoom
from aijobs.models.journal import CallOutcome, finish_call, start_call
from aijobs.models.ledger import Bound, Budget, UserLimits, pass_gate
from aijobs.models.lifecycle import Lease, create, succeed
from aijobs.models.tables import AiJob
from tests.integration.ledger.books import Ceiling, a_day_passes, rows_over, sql
from tests.integration.ledger.test_machine import CALL
from tests.integration.models.states import claimed, hasty, new_job
from tests.world import World, whole_database

LIMITS = UserLimits(daily_jobs=20, daily_tokens=3000, monthly_tokens=3000, active=20)
BUDGET = Budget(tokens=3000, cost_micro_usd=10**9)
CEILING = Ceiling(20, 3000, 3000, 3000)


def _job(here: World, tokens: int) -> AiJob | None:
    def work() -> AiJob | None:
        pass_gate(here.user_id, LIMITS)
        reserving = (Bound(tokens, 0), BUDGET)
        return create(new_job(here, id=uuid7()), actor="test", reserving=reserving)

    return db.transact("create", work)


def _lease(here: World, tokens: int) -> Lease:
    job, lease = _job(here, tokens), claimed(here)
    assert job is not None and lease is not None and lease.job_id == job.id
    return lease


def _call(lease: Lease, tokens: int) -> int:
    call = replace(CALL, id=uuid7(), input_bound=tokens)
    return start_call(lease, call, lease_seconds=60, patient=hasty, budget=BUDGET)


def _bill(lease: Lease, call_no: int, tokens: int) -> None:
    told = CallOutcome("completed", 5, input_tokens=tokens, output_tokens=0, cost_micro_usd=0)
    finish_call(lease, call_no, told, patient=hasty)


def _books() -> list[dict[str, Any]]:
    """Of the three rows, which must say the same."""
    tables = ("user_ai_usage_daily", "user_ai_usage_monthly", "platform_usage_daily")
    return [
        sql(f"SELECT tokens_reserved AS r, tokens_used AS u, tokens_overrun AS o FROM {name}")[0]
        for name in tables
    ]


def test_what_a_settlement_released_is_not_there_for_a_late_bill(here: World) -> None:
    """1 000 of 3 000 are spent and the rest goes to another job: 500 more are overrun."""
    lease = _lease(here, 3000)
    call_no = _call(lease, 1000)
    succeed(lease, output_hash="o" * 64)
    _job(here, 2000)
    assert _books() == [{"r": 2000, "u": 1000, "o": 0}] * 3
    _bill(lease, call_no, 1500)
    assert _books() == [{"r": 2000, "u": 1500, "o": 500}] * 3
    assert rows_over(CEILING) == []
    with pytest.raises(NoRoom, match="DAILY_TOKEN_BUDGET_EXCEEDED"):
        _job(here, 1)


def test_what_a_late_bill_gave_back_is_not_there_for_the_next(here: World) -> None:
    """Two calls stand at 1 000 each. One cost nothing, and another job has its 1 000; then the
    other cost 1 300: 300 are overrun."""
    lease = _lease(here, 2000)
    first, second = _call(lease, 1000), _call(lease, 1000)
    succeed(lease, output_hash="o" * 64)
    _bill(lease, first, 0)
    assert _books() == [{"r": 0, "u": 1000, "o": 0}] * 3
    _job(here, 2000)
    _bill(lease, second, 1300)
    assert _books() == [{"r": 2000, "u": 1300, "o": 300}] * 3
    assert rows_over(CEILING) == []


def test_a_late_bill_takes_overrun_back(here: World) -> None:
    """Beyond its bound by 500, then 700 less than thought: 200 less than reserved, no overrun."""
    lease = _lease(here, 2000)
    first, second = _call(lease, 1000), _call(lease, 1000)
    _bill(lease, first, 1500)
    succeed(lease, output_hash="o" * 64)
    assert _books() == [{"r": 0, "u": 2500, "o": 500}] * 3
    _bill(lease, second, 300)
    assert _books() == [{"r": 0, "u": 1800, "o": 0}] * 3


def test_a_bill_is_booked_once_however_often_it_comes(here: World) -> None:
    lease = _lease(here, 2000)
    call_no = _call(lease, 1000)
    succeed(lease, output_hash="o" * 64)
    for _ in range(3):
        _bill(lease, call_no, 400)
    assert _books() == [{"r": 0, "u": 400, "o": 0}] * 3


def _days() -> list[tuple[int, int, int]]:
    """Reserved, used and overrun of each of the user's days, in order."""
    found = sql(
        "SELECT tokens_reserved, tokens_used, tokens_overrun "
        "FROM user_ai_usage_daily ORDER BY local_date"
    )
    return [(row["tokens_reserved"], row["tokens_used"], row["tokens_overrun"]) for row in found]


@pytest.mark.parametrize(
    ("told", "yesterday"), [(400, (0, 400, 0)), (1000, (0, 1000, 0)), (1700, (0, 1700, 700))]
)
def test_a_bill_goes_to_the_day_of_its_call(
    here: World, told: int, yesterday: tuple[int, int, int]
) -> None:
    """The job has left for another day meanwhile, and ends there."""
    lease = _lease(here, 1000)
    first = _call(lease, 1000)
    a_day_passes()
    _limit_tokens(1500)
    second = _call(lease, 600)
    assert _days() == [(0, 1000, 0), (600, 0, 0)]
    _bill(lease, first, told)
    assert _days() == [yesterday, (600, 0, 0)]
    _bill(lease, second, 50)
    succeed(lease, output_hash="o" * 64)
    assert _days() == [yesterday, (0, 50, 0)]
    assert _books()[1] == {"r": 0, "u": told + 50, "o": yesterday[2]}


def test_a_reservation_does_not_move_to_an_earlier_day(here: World) -> None:
    """A change of zone has put the user's day back: the call waits, and nothing is written."""
    lease = _lease(here, 1000)
    _call(lease, 1000)
    for table, column in (
        ("user_ai_usage_daily", "local_date"),
        ("ai_job_reservation", "user_date"),
        ("ai_usage_log", "user_date"),
    ):
        sql(f"UPDATE {table} SET {column} = {column} + 1")
    _limit_tokens(1500)
    before = whole_database()
    with pytest.raises(NoRoom, match="DAILY_TOKEN_BUDGET_EXCEEDED"):
        _call(lease, 600)
    assert whole_database() == before


def _limit_tokens(most: int) -> None:
    sql("UPDATE user_ai_settings SET max_daily_token_budget = %(most)s", most=most)
