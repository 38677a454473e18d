"""The lease is taken over between an attempt's read and its write: the write changes nothing.

The takeover is committed while the write waits for the job's row, or before it begins; its one
permitted effect is the end of the attempt's own usage row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from uuid_utils.compat import uuid7

from aijobs.engine import stages
from aijobs.engine.attempt import Attempt
from aijobs.engine.chat import ChatRequest, Reply, Route
from aijobs.engine.cut import Cut, CutReason
from aijobs.engine.errors import JobFault
from aijobs.engine.offline import OfflineProvider
from aijobs.engine.stages import Fault, Lost, Next, Resolved, settle
from aijobs.models import database as db
from aijobs.models.errors import LeaseLost
from aijobs.models.journal import (
    CallOutcome,
    NewCall,
    finish_call,
    finish_with_result,
    start_call,
)
from aijobs.models.lifecycle import (
    Lease,
    begin,
    checkpoint,
    confirm_cancel,
    confirm_cancel_lapsed,
    fail,
    hand_back,
    release_for_retry,
    renew,
    request_cancel,
    succeed,
)
from aijobs.models.results import Validated, accept, drop_validated, save_snapshot
from tests.integration.models.edges import nothing_changes
from tests.integration.models.rivals import beaten
from tests.integration.models.states import (
    FAILURE,
    claimed,
    expire_now,
    hasty,
    job_in,
    running,
    sql,
    take_over,
)
from tests.world import World, whole_database

CALL = NewCall(
    id=uuid7(),
    tier="standard",
    provider="offline",
    model="offline-rules-1",
    prompt_key="quiz_generation",
    prompt_version="v1",
    request_hash="r" * 64,
    input_bound=900,
    output_bound=8000,
)
ANSWERED = CallOutcome(
    state="completed",
    latency_ms=12,
    http_status=200,
    finish_reason="stop",
    response_model="m",
    input_tokens=7,
    output_tokens=9,
    raw_response='{"text": "of the first attempt"}',
)
VALIDATED = Validated(output={"questions": []}, output_hash="o" * 64, snapshot_hash="s" * 64)


def _start(lease: Lease) -> int:
    return start_call(lease, replace(CALL, id=uuid7()), lease_seconds=60, patient=hasty)


def _keep(lease: Lease, call: tuple[int, CallOutcome] | None) -> Any:
    return finish_with_result(lease, call, VALIDATED, lease_seconds=60, patient=hasty)


def _rebuild(lease: Lease) -> None:
    def work() -> None:
        checkpoint(lease, stage="RESOLVE", progress=20, lease_seconds=60)
        drop_validated(lease)
        save_snapshot(
            lease,
            {"items": []},
            schema_version="1",
            redaction_version="1",
            content_hash="forged",
            hours=24,
        )

    db.transact("snapshot", work)


def _project(lease: Lease) -> None:
    def work() -> None:
        succeed(lease, output_hash="o" * 64)
        accept(lease, [])

    db.transact("project", work)


#: Every write on behalf of an attempt, but for the end of a call.
WRITES: dict[str, Callable[[Lease], Any]] = {
    "begin": begin,
    "a checkpoint": lambda lease: db.transact(
        "snapshot", lambda: checkpoint(lease, stage="RESOLVE", progress=20, lease_seconds=60)
    ),
    "the start of a call": _start,
    "a result with its call": lambda lease: _keep(lease, (1, ANSWERED)),
    "a result of an earlier answer": lambda lease: _keep(lease, None),
    "a snapshot": _rebuild,
    "a projection": _project,
    "succeed": lambda lease: succeed(lease, output_hash="o" * 64),
    "fail": lambda lease: fail(lease, FAILURE, patient=hasty),
    "release_for_retry": lambda lease: release_for_retry(
        lease, FAILURE, delay_seconds=0, patient=hasty
    ),
    "hand_back": lambda lease: hand_back(lease, cause="shutdown", delay_seconds=0, patient=hasty),
    "confirm_cancel": lambda lease: confirm_cancel(lease, patient=hasty),
}


def _by_another(here: World, lease: Lease) -> None:
    take_over(here.other_process(), lease.job_id)


def _by_itself(here: World, lease: Lease) -> None:
    """The same process claims again: only the number of the attempt differs."""
    take_over(here, lease.job_id)


def _expired(here: World, lease: Lease) -> None:
    expire_now(here, lease.job_id)


def _by_another_that_is_asked_to_cancel(here: World, lease: Lease) -> None:
    _by_another(here, lease)
    request_cancel(lease.job_id, reason="user")


def _finished_by_another(here: World, lease: Lease) -> None:
    succeed(take_over(here.other_process(), lease.job_id), output_hash="2" * 64)


#: The ledger's shared rows.
USAGE = ("user_ai_usage_daily", "user_ai_usage_monthly", "platform_usage_daily")
LOSSES = (
    _by_another,
    _by_itself,
    _expired,
    _by_another_that_is_asked_to_cancel,
    _finished_by_another,
)


@pytest.mark.parametrize("write", sorted(set(WRITES) - {"confirm_cancel"}))
def test_a_write_that_waits_for_the_takeover_changes_nothing(here: World, write: str) -> None:
    lease = job_in(here, "locked" if write == "begin" else "running")
    _start(lease)
    left, outcome = beaten(lambda: _by_another(here, lease), lambda: WRITES[write](lease))
    assert isinstance(outcome, LeaseLost)
    assert (outcome.job_id, outcome.attempt_no) == (lease.job_id, 2)
    assert whole_database() == left


def test_a_holder_whose_cancel_the_reaper_confirms_changes_nothing(here: World) -> None:
    lease = running(here)
    request_cancel(lease.job_id, reason="user")
    here.lapse(lease.job_id)
    left, outcome = beaten(
        lambda: confirm_cancel_lapsed(lease.job_id, grace_seconds=30),
        lambda: WRITES["confirm_cancel"](lease),
    )
    assert isinstance(outcome, LeaseLost)
    assert whole_database() == left


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__.strip("_"))
@pytest.mark.parametrize("write", WRITES)
def test_a_write_after_the_takeover_changes_nothing(
    here: World, write: str, loss: Callable[[World, Lease], None]
) -> None:
    lease = running(here)
    _start(lease)
    loss(here, lease)
    with nothing_changes(), pytest.raises(LeaseLost):
        WRITES[write](lease)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__.strip("_"))
def test_a_heartbeat_after_the_takeover_renews_nothing(
    here: World, loss: Callable[[World, Lease], None]
) -> None:
    lease = running(here)
    loss(here, lease)
    with nothing_changes():
        renewal = renew([lease], 60)
    assert (renewal.renewed, renewal.lost) == (frozenset(), frozenset({lease.job_id}))


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__.strip("_"))
def test_the_end_of_its_own_call_is_all_that_a_lost_attempt_may_write(
    here: World, loss: Callable[[World, Lease], None]
) -> None:
    lease = running(here)
    call_no = _start(lease)
    loss(here, lease)
    before = whole_database()
    finish_call(lease, call_no, ANSWERED, patient=hasty)
    booked = {"ai_job_reservation", *USAGE} if loss is _finished_by_another else set()
    assert _changed(before) == {"ai_usage_log"} | booked  # after settlement its difference
    assert sql("SELECT call_id, state, input_tokens, output_tokens FROM ai_usage_log") == [
        {"call_id": "1-1", "state": "completed", "input_tokens": 7, "output_tokens": 9}
    ]


def test_the_late_end_of_a_call_leaves_the_next_attempts_call_alone(here: World) -> None:
    lease, other = running(here), here.other_process()
    call_no = _start(lease)
    second = take_over(other, lease.job_id)
    assert (call_no, _start(second)) == (1, 2)
    assert _calls() == [("1-1", "unknown"), ("2-2", "started")]
    finish_call(lease, call_no, ANSWERED, patient=hasty)
    assert _calls() == [("1-1", "completed"), ("2-2", "started")]
    with nothing_changes():
        finish_call(lease, 2, ANSWERED, patient=hasty)
        finish_call(lease, call_no, replace(ANSWERED, input_tokens=1_000_000), patient=hasty)


def test_nobody_ends_the_call_of_another_attempt(here: World) -> None:
    lease = running(here)
    call_no = _start(lease)
    with nothing_changes():
        finish_call(Lease(lease.job_id, 2, lease.holder), call_no, ANSWERED, patient=hasty)


# The stages themselves: the lease is lost while they wait for the provider or for the database.


@dataclass
class Slow:
    """A provider that answers as the offline one does, after something has happened."""

    meanwhile: Callable[[], None]

    def complete(self, route: Route, request: ChatRequest, cut: Cut) -> Reply:
        self.meanwhile()
        return OfflineProvider().complete(route, request, cut)


def _resolved(here: World, attempt: Attempt) -> Resolved:
    outcome = stages.resolve(here.engine, attempt)
    assert isinstance(outcome, Next)
    return outcome.value


def _seize(here: World, attempt: Attempt) -> None:
    take_over(here.other_process(), attempt.lease.job_id)


def test_an_answer_that_arrives_after_the_takeover_is_kept_in_its_usage_row_alone(
    here: World,
) -> None:
    here.create()
    attempt = here.claim()
    seen: list[dict[str, list[str]]] = []

    def meanwhile() -> None:
        _seize(here, attempt)
        seen.append(whole_database())

    slow = here.with_provider(Slow(meanwhile))
    outcome = stages.execute(slow.engine, attempt, _resolved(here, attempt))
    assert isinstance(outcome, Lost)
    settle(slow.engine, attempt, outcome)
    assert _changed(seen[0]) == {"ai_usage_log"}
    assert _calls() == [("1-1", "completed")]
    answer = sql("SELECT raw_response IS NOT NULL AS kept FROM ai_usage_log")
    assert answer == [{"kept": True}]


def test_the_next_attempt_reads_that_answer_instead_of_asking_again(here: World) -> None:
    job = here.create()
    first, other = here.claim(), here.other_process()
    asked: list[str] = []

    def meanwhile() -> None:
        asked.append("first")
        expire_now(here, job.id)

    stages.execute(here.with_provider(Slow(meanwhile)).engine, first, _resolved(here, first))
    sql("UPDATE ai_job SET lifecycle_status = 'queued' WHERE id = %(id)s", id=job.id)
    second = other.with_provider(Slow(lambda: asked.append("second")))
    second.run(second.claim())
    assert here.job(job.id).lifecycle_status == "succeeded"
    assert asked == ["first"]


@pytest.mark.parametrize("job_type", ["quiz_generation", "flashcard_generation"])
def test_a_projection_after_the_takeover_leaves_no_artifact_and_no_published_row(
    here: World, job_type: str
) -> None:
    here.create(job_type)
    attempt = here.claim()
    resolved = _resolved(here, attempt)
    executed = stages.execute(here.engine, attempt, resolved)
    assert isinstance(executed, Next)
    left, outcome = beaten(
        lambda: _seize(here, attempt),
        lambda: stages.project(here.engine, attempt, resolved, executed.value),
    )
    assert isinstance(outcome, Lost)
    settle(here.engine, attempt, outcome)
    assert whole_database() == left


def test_a_snapshot_is_not_rebuilt_under_the_next_attempt(here: World) -> None:
    here.create()
    attempt = here.claim()
    sql("UPDATE ai_job_snapshot SET expires_at = now() - interval '1 min'")
    left, outcome = beaten(
        lambda: _seize(here, attempt), lambda: stages.resolve(here.engine, attempt)
    )
    assert isinstance(outcome, Lost)
    assert whole_database() == left


@pytest.mark.parametrize(
    "outcome",
    [
        Fault(JobFault("PROVIDER_TIMEOUT", "too slow")),
        Fault(JobFault("CONTENT_SAFETY_BLOCKED", "refused")),
        Fault(JobFault("PROVIDER_ACCOUNT", "no money")),
        stages.Cut(CutReason.CANCELLED),
        stages.Cut(CutReason.DEADLINE),
        stages.Cut(CutReason.SHUTDOWN),
        stages.outcome.Unknown(),
    ],
    ids=str,
)
def test_a_lost_attempt_takes_no_edge_whatever_it_came_to(here: World, outcome: Any) -> None:
    here.create()
    attempt = here.claim()
    _seize(here, attempt)
    with nothing_changes():
        settle(here.engine, attempt, outcome)


def test_the_reservation_is_settled_once(here: World) -> None:
    lease = running(here)
    second = take_over(here.other_process(), lease.job_id)
    succeed(second, output_hash="2" * 64)
    settled = sql("SELECT settled_at FROM ai_job_reservation")
    assert settled[0]["settled_at"] is not None
    for write in ("succeed", "fail", "confirm_cancel"):
        with pytest.raises(LeaseLost):
            WRITES[write](lease)
    assert sql("SELECT settled_at FROM ai_job_reservation") == settled


def test_a_validated_result_is_not_replaced_once_it_is_accepted(here: World) -> None:
    lease = running(here)
    _keep(lease, None)
    sql("UPDATE ai_job_result SET state = 'accepted'")
    before = sql("SELECT * FROM ai_job_result")
    finish_with_result(
        lease, None, replace(VALIDATED, output_hash="x" * 64), lease_seconds=60, patient=hasty
    )
    assert sql("SELECT * FROM ai_job_result") == before


def test_the_winner_of_a_takeover_is_the_only_one_to_go_on(here: World) -> None:
    lease = running(here)
    second = take_over(here.other_process(), lease.job_id)
    assert second.attempt_no == 2
    assert claimed(here) is None
    succeed(second, output_hash="2" * 64)
    assert here.job(lease.job_id).output_hash == "2" * 64


def _calls() -> list[tuple[str, str]]:
    found = sql("SELECT call_id, state FROM ai_usage_log ORDER BY call_no")
    return [(row["call_id"], row["state"]) for row in found]


def _changed(before: dict[str, list[str]]) -> set[str]:
    now = whole_database()
    return {name for name in now if now[name] != before[name]}
