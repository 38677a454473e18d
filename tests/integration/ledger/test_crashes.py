"""Creation, the start of a call and every settlement, crashed at each of their statements.

Afterwards all of it is stored or nothing, the books fit, and doing it again does it once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest
from uuid_utils.compat import uuid7

from aijobs.engine import stages
from aijobs.engine.stages import Next
from aijobs.models import users
from aijobs.models.journal import finish_call, start_call
from aijobs.models.ledger import UserLimits
from aijobs.models.lifecycle import cancel, fail
from tests.integration.ledger.books import counts, empty, sql
from tests.integration.ledger.crashing import counted, ended_at, every_statement
from tests.integration.ledger.test_machine import CALL
from tests.integration.models.rivals import settled
from tests.integration.models.states import FAILURE, hasty, running
from tests.integration.models.test_fence import ANSWERED
from tests.world import World, whole_database

LIMITS = UserLimits()
Work = Callable[[], Any]


@dataclass(frozen=True)
class Play:
    """What is interrupted: made ready, then the work; whether it is done; how many statements it
    has at least; whether it can be done twice."""

    make: Callable[[World], Work]
    is_done: Callable[[], bool]
    statements: int
    again: bool = False


def _create(here: World) -> Work:
    return lambda: here.create(idempotencyKey="k")


def _start_call(here: World) -> Work:
    lease = running(here)
    call = replace(CALL, id=uuid7(), input_bound=50_000, cost_bound=70)
    return lambda: start_call(lease, call, lease_seconds=60, patient=hasty)


def _project(here: World) -> Work:
    here.create()
    attempt = here.claim()
    resolved = stages.resolve(here.engine, attempt)
    assert isinstance(resolved, Next)
    executed = stages.execute(here.engine, attempt, resolved.value)
    assert isinstance(executed, Next)
    here.engine.attempts.remove(attempt)
    return lambda: stages.project(here.engine, attempt, resolved.value, executed.value)


def _fail(here: World) -> Work:
    lease = running(here)
    start_call(lease, replace(CALL, id=uuid7()), lease_seconds=60, patient=hasty)
    return lambda: fail(lease, FAILURE, patient=hasty)


def _cancel(here: World) -> Work:
    job = here.create()
    return lambda: cancel(job.id, reason="user", actor="test")


def _switch_off(here: World) -> Work:
    running(here)
    here.create()
    here.create()
    return lambda: users.change_settings(here.user_id, LIMITS, ai_enabled=False, time_zone=None)


def _late_bill(here: World) -> Work:
    lease = running(here)
    call = replace(CALL, id=uuid7(), input_bound=900)
    call_no = start_call(lease, call, lease_seconds=60, patient=hasty)
    fail(lease, FAILURE, patient=hasty)
    return lambda: finish_call(lease, call_no, ANSWERED, patient=hasty)


def _are(table: str, condition: str, number: int) -> Callable[[], bool]:
    text = f"SELECT count(*) AS n FROM {table} WHERE {condition}"
    return lambda: sql(text) == [{"n": number}]


_SETTLED = _are("ai_job_reservation", "settled_at IS NOT NULL", 1)
PLAYS = {
    "create": Play(_create, _are("ai_job", "true", 1), 7),
    "start a call": Play(_start_call, _are("ai_usage_log", "state = 'started'", 1), 1, again=True),
    "succeed": Play(_project, _SETTLED, 4),
    "fail": Play(_fail, _SETTLED, 1),
    "cancel": Play(_cancel, _SETTLED, 1),
    "switch AI off": Play(_switch_off, _are("ai_job", "cancel_requested_at IS NOT NULL", 3), 6),
    "late bill": Play(_late_bill, _are("ai_usage_log", "state = 'completed'", 1), 1),
}
_JOURNAL = """
SELECT coalesce(sum(input_tokens + output_tokens), 0)::int AS used
FROM ai_usage_log usage JOIN ai_job_reservation home USING (job_id)
WHERE home.settled_at IS NOT NULL
"""
_HELD = """
SELECT coalesce(sum(tokens) FILTER (WHERE settled_at IS NULL), 0)::int AS tokens,
       count(*) FILTER (WHERE settled_at IS NULL OR job.attempt_no > 0)::int AS jobs
FROM ai_job_reservation home JOIN ai_job job ON job.id = home.job_id
"""


def _books_fit() -> None:
    """What is held and what is spent stand in each of the three rows, once."""
    (held,), (journal,) = sql(_HELD), sql(_JOURNAL)
    for table in ("user_ai_usage_daily", "user_ai_usage_monthly", "platform_usage_daily"):
        for row in sql(f"SELECT * FROM {table}"):
            assert row["jobs"] == held["jobs"], table
            assert row["tokens_reserved"] == held["tokens"], table
            assert row["tokens_used"] == journal["used"], table
    stored = counts()
    assert stored["ai_job"] == stored["ai_job_reservation"]
    assert (stored["user_ai_usage_daily"] > 0) == (stored["ai_job"] > 0)


@pytest.mark.parametrize("after", [False, True], ids=["before it", "after it"])
@pytest.mark.parametrize("name", PLAYS)
def test_a_crash_at_any_statement_leaves_all_or_nothing(
    here: World, name: str, after: bool
) -> None:
    play, seen = PLAYS[name], set()
    with counted():
        for number in every_statement():
            empty()
            work = play.make(here)
            before = whole_database()
            if not ended_at(number, work, after=after):
                break
            left, done = whole_database(), play.is_done()
            seen.add(done)
            assert done or left == before, number
            _books_fit()
            if not (done and play.again):
                settled(work)
            assert play.is_done(), number
            assert not done or whole_database() == left, number
            _books_fit()
    assert number > play.statements
    assert seen == ({False, True} if after and play.statements > 1 else {after})


@pytest.mark.parametrize("after", [False, True], ids=["before it", "after it"])
@pytest.mark.parametrize("name", PLAYS)
def test_a_connection_lost_at_any_statement_is_made_good(
    here: World, name: str, after: bool
) -> None:
    """The work goes on by itself, also where only the answer of a commit was lost."""
    play = PLAYS[name]
    with counted():
        for number in every_statement():
            empty()
            work = play.make(here)
            was_lost = ended_at(number, partial(settled, work), after=after, is_loss=True)
            assert play.is_done(), number
            _books_fit()
            if not was_lost:
                break
    assert number > play.statements
