"""What an edge changes in its job, beside the status."""

from __future__ import annotations

import pytest

from aijobs.models.lifecycle import (
    Failure,
    cancel,
    confirm_cancel_lapsed,
    fail,
    hand_back,
    release_for_retry,
    request_cancel,
    requeue,
    succeed,
)
from tests.integration.models.edges import (
    ask_to_cancel,
    change,
    confirm,
    history,
    internal_error,
    nothing_changes,
    taken,
)
from tests.integration.models.states import (
    ACTIVE,
    FAILURE,
    TERMINAL,
    claimed,
    hasty,
    job_in,
    running,
    sql,
)
from tests.world import World

LEASE = ("locked_by", "locked_at", "lock_until")
COUNTERS = ("attempt_no", "retry_count", "internal_retry_count", "crash_count", "hand_back_count")

#: edge -> (state, counters that grow by one).
GROWS: dict[str, tuple[str, set[str]]] = {
    "claim": ("queued", {"attempt_no"}),
    "begin": ("locked", set()),
    "succeed": ("running", set()),
    "fail": ("running", set()),
    "release_for_retry": ("running", {"retry_count"}),
    "hand_back": ("running", {"hand_back_count"}),
    "expire": ("running", {"crash_count"}),
    "requeue": ("expired", {"retry_count"}),
    "give_up": ("expired", set()),
    "cancel": ("queued", set()),
    "confirm_cancel": ("running", set()),
    "reject": ("queued", set()),
}


@pytest.mark.parametrize("edge", GROWS)
def test_an_edge_counts_what_the_contract_says(here: World, edge: str) -> None:
    state, grows = GROWS[edge]
    before, after = taken(here, edge, state)
    assert {name for name in COUNTERS if getattr(after, name) == getattr(before, name) + 1} == grows
    assert all(getattr(after, n) == getattr(before, n) for n in set(COUNTERS) - grows)


@pytest.mark.parametrize("edge", GROWS)
def test_only_an_active_job_has_a_lease_and_only_an_ended_one_an_end(
    here: World, edge: str
) -> None:
    _, after = taken(here, edge, GROWS[edge][0])
    active = after.lifecycle_status in ACTIVE
    assert [getattr(after, name) is not None for name in LEASE] == [active] * 3
    assert (after.finished_at is not None) == (after.lifecycle_status in TERMINAL)
    settled = sql("SELECT settled_at FROM ai_job_reservation")[0]["settled_at"] is not None
    assert settled == (after.lifecycle_status in TERMINAL)


def test_a_result_that_is_validated_is_requeued_without_a_retry(here: World) -> None:
    lease = job_in(here, "expired")
    sql(
        "INSERT INTO ai_job_result (job_id, attempt_no, state, output, output_hash, "
        "snapshot_hash, result_key, submitted_by) "
        "VALUES (%(id)s, 1, 'validated', '{}', 'o', 's', 'k', 'h')",
        id=lease.job_id,
    )
    change(lease, "retry_count = 3")
    assert requeue(lease.job_id, delay_seconds=0).retry_count == 3


def test_only_shutdowns_are_counted_among_hand_backs(here: World) -> None:
    lease = running(here)
    after = hand_back(lease, cause="circuit", delay_seconds=60, patient=hasty)
    assert (after.hand_back_count, after.retry_count) == (0, 0)


def test_an_internal_error_is_counted_on_its_own(here: World) -> None:
    after = internal_error(running(here))
    assert (after.retry_count, after.internal_retry_count) == (1, 1)


@pytest.mark.parametrize("edge", ["release_for_retry", "hand_back", "requeue"])
def test_a_rewound_job_is_due_after_its_delay(here: World, edge: str) -> None:
    _, after = taken(here, edge, GROWS[edge][0])
    waits = sql(
        "SELECT extract(epoch FROM available_at - updated_at)::float AS seconds, "
        "rank_at = available_at + priority * interval '60 s' AS ranked FROM ai_job"
    )
    assert waits == [{"seconds": 5.0, "ranked": True}]
    assert after.cancel_requested_at is None
    assert claimed(here) is None


def test_each_claim_starts_the_clock_again(here: World) -> None:
    lease = running(here)
    change(lease, "started_at = now() - interval '1 h'")
    release_for_retry(lease, FAILURE, delay_seconds=0, patient=hasty)
    assert claimed(here) is not None
    assert sql("SELECT started_at > now() - interval '1 min' AS fresh FROM ai_job") == [
        {"fresh": True}
    ]


def test_the_error_of_a_failed_attempt_is_kept_until_a_success(here: World) -> None:
    lease = running(here)
    after = release_for_retry(lease, FAILURE, delay_seconds=0, patient=hasty)
    assert (after.error_code, after.public_error_message, after.internal_error_message) == (
        "PROVIDER_TIMEOUT",
        "The model did not answer in time.",
        "read timed out",
    )
    second = claimed(here)
    assert second is not None
    done = succeed(second, output_hash="1" * 64)
    assert (done.error_code, done.public_error_message, done.internal_error_message) == (None,) * 3
    assert done.output_hash == "1" * 64


@pytest.mark.parametrize("state", ["queued", "running", "expired"])
def test_a_cancelled_job_says_why(here: World, state: str) -> None:
    lease = job_in(here, state)
    if state == "running":
        ask_to_cancel(lease)
        after = confirm(here, lease)
    else:
        after = cancel(lease.job_id, reason="user", actor="user:1")
    assert (after.error_code, after.cancel_reason) == ("JOB_CANCELLED", "user")
    assert after.cancel_requested_at is not None


def test_the_first_request_to_cancel_is_the_one_that_is_kept(here: World) -> None:
    lease = running(here)
    first = request_cancel(lease.job_id, reason="user")
    second = request_cancel(lease.job_id, reason="admin")
    assert first is not None and second is not None
    assert (second.cancel_reason, second.cancel_requested_at) == (
        "user",
        first.cancel_requested_at,
    )


@pytest.mark.parametrize("state", ["queued", "expired", *TERMINAL])
def test_nobody_is_asked_to_cancel_a_job_that_nobody_holds(here: World, state: str) -> None:
    lease = job_in(here, state)
    with nothing_changes():
        assert request_cancel(lease.job_id, reason="user") is None


def test_the_dead_holders_cancel_is_confirmed_by_the_reaper(here: World) -> None:
    lease = running(here)
    ask_to_cancel(lease)
    here.lapse(lease.job_id)
    after = confirm_cancel_lapsed(lease.job_id, grace_seconds=30)
    assert (after.lifecycle_status, after.crash_count) == ("cancelled", 1)
    assert history()[-1]["actor"] == "reaper"


def test_an_internal_message_is_kept_up_to_its_four_kilobytes(here: World) -> None:
    lease = running(here)
    after = fail(lease, Failure("INTERNAL_ERROR", "Sorry.", "é" * 5000), patient=hasty)
    assert after.internal_error_message == "é" * 2048
