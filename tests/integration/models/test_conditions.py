"""What must be so beside the status, for an edge to be taken."""

from __future__ import annotations

import pytest

from aijobs.models.errors import IllegalTransition
from aijobs.models.lifecycle import confirm_cancel_lapsed, requeue
from tests.integration.models.edges import (
    CONTRACT,
    EDGES,
    Edge,
    ask_to_cancel,
    change,
    confirm,
    internal_error,
    nothing_changes,
)
from tests.integration.models.states import job_in, running
from tests.world import World

#: name -> (state, what closes the edge, the edge).
CLOSED: dict[str, tuple[str, str, Edge]] = {
    "release: no retry left": ("running", "retry_count = 3", EDGES["release_for_retry"]),
    "release: cancel requested": (
        "running",
        "cancel_requested_at = now()",
        EDGES["release_for_retry"],
    ),
    "release: a second internal error": (
        "running",
        "internal_retry_count = 1",
        lambda here, lease: internal_error(lease),
    ),
    "hand_back: cancel requested": (
        "running",
        "cancel_requested_at = now()",
        EDGES["hand_back"],
    ),
    "confirm_cancel: not requested": ("running", "progress = 11", confirm),
    "expire: healthy": ("running", "progress = 11", EDGES["expire"]),
    "expire: within its grace": (
        "running",
        "lock_until = now() - interval '25 s'",
        EDGES["expire"],
    ),
    "confirm_cancel for the dead: healthy": (
        "running",
        "cancel_requested_at = now()",
        lambda here, lease: confirm_cancel_lapsed(lease.job_id, grace_seconds=30),
    ),
    "confirm_cancel for the dead: not requested": (
        "running",
        "lock_until = now() - interval '1 h'",
        lambda here, lease: confirm_cancel_lapsed(lease.job_id, grace_seconds=30),
    ),
    "requeue: no retry left": ("expired", "retry_count = 3", EDGES["requeue"]),
    "requeue: crashed six times": ("expired", "crash_count = 6", EDGES["requeue"]),
    "requeue: cancel requested": (
        "expired",
        "cancel_requested_at = now()",
        EDGES["requeue"],
    ),
}


@pytest.mark.parametrize("case", CLOSED)
def test_a_condition_closes_an_edge(here: World, case: str) -> None:
    state, closing, edge = CLOSED[case]
    lease = job_in(here, state)
    change(lease, closing)
    with nothing_changes(), pytest.raises(IllegalTransition):
        edge(here, lease)


def test_the_fifth_crash_is_still_requeued(here: World) -> None:
    lease = job_in(here, "expired")
    change(lease, "crash_count = 5")
    assert requeue(lease.job_id, delay_seconds=0).lifecycle_status == "queued"


@pytest.mark.parametrize("edge", ["succeed", "fail"])
def test_a_requested_cancel_does_not_stop_an_end_that_was_reached(here: World, edge: str) -> None:
    lease = running(here)
    ask_to_cancel(lease)
    EDGES[edge](here, lease)
    assert here.job(lease.job_id).lifecycle_status == CONTRACT[edge][1]
