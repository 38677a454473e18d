"""The whole machine: any sequence of edges, by present and past holders, against a plain model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from aijobs.models.errors import (
    IllegalTransition,
    JobAlreadyTerminal,
    JobLockConflict,
    LeaseLost,
    ModelError,
)
from aijobs.models.lifecycle import Lease, confirm_cancel_lapsed, request_cancel
from tests.integration.models.edges import CONTRACT, EDGES, history
from tests.integration.models.rivals import settled
from tests.integration.models.states import ACTIVE, TERMINAL, sql
from tests.world import World

BY_HOLDER = ("succeed", "fail", "release_for_retry", "hand_back", "confirm_cancel")
BY_ID = ("expire", "requeue", "give_up", "cancel", "reject", "confirm_cancel_lapsed")
BESIDE = ("lapse", "ask", "make_due")


@dataclass(frozen=True)
class Job:
    """What the contract says a job is, as far as its edges depend on it."""

    status: str = "queued"
    attempt_no: int = 0
    retry_count: int = 0
    crash_count: int = 0
    hand_back_count: int = 0
    is_asked: bool = False
    is_lapsed: bool = False
    is_due: bool = True
    edges: int = 1

    def moved(self, edge: str, **changes: Any) -> Job:
        target = CONTRACT[edge][1]
        job = replace(self, status=target, edges=self.edges + 1, is_lapsed=False, **changes)
        return replace(job, is_due=job.is_due and not _delays(edge))


def _delays(edge: str) -> bool:
    return edge in ("release_for_retry", "hand_back", "requeue")


Answer = Job | type[ModelError]


def by_contract(job: Job, step: str, attempt_no: int) -> Answer:
    """The job after a step, or the refusal."""
    if step in BESIDE:
        return _beside(job, step)
    if step == "claim":
        taken = job.status == "queued" and job.is_due
        return job.moved("claim", attempt_no=job.attempt_no + 1) if taken else job
    if step in BY_HOLDER:
        if job.status not in ACTIVE or attempt_no != job.attempt_no:
            return LeaseLost
        return _by_holder(job, step)
    return _by_id(job, step)


def _beside(job: Job, step: str) -> Job:
    if step == "lapse":
        return replace(job, is_lapsed=job.status in ACTIVE)
    if step == "ask":
        return replace(job, is_asked=job.is_asked or job.status in ACTIVE)
    return replace(job, is_due=True)


def _by_holder(job: Job, step: str) -> Answer:
    if step == "release_for_retry":
        closed = job.is_asked or job.retry_count >= 3
        return IllegalTransition if closed else job.moved(step, retry_count=job.retry_count + 1)
    if step == "hand_back":
        grown = {"hand_back_count": job.hand_back_count + 1}
        return IllegalTransition if job.is_asked else job.moved(step, **grown)
    if step == "confirm_cancel" and not job.is_asked:
        return IllegalTransition
    return job.moved(step)


def _by_id(job: Job, step: str) -> Answer:
    edge = "confirm_cancel" if step == "confirm_cancel_lapsed" else step
    if job.status not in CONTRACT[edge][0]:
        if job.status in TERMINAL:
            return JobAlreadyTerminal
        return JobLockConflict if job.status in ACTIVE else IllegalTransition
    if step == "expire":
        crashed = {"crash_count": job.crash_count + 1}
        return job.moved(edge, **crashed) if job.is_lapsed else IllegalTransition
    if step == "confirm_cancel_lapsed":
        crashed = {"crash_count": job.crash_count + 1}
        dead = job.is_lapsed and job.is_asked
        return job.moved(edge, **crashed) if dead else IllegalTransition
    if step == "requeue":
        closed = job.is_asked or job.retry_count >= 3 or job.crash_count > 5
        return IllegalTransition if closed else job.moved(edge, retry_count=job.retry_count + 1)
    return job.moved(edge, is_asked=True) if step == "cancel" else job.moved(edge)


def _take(here: World, lease: Lease, step: str) -> Any:
    acts: dict[str, Callable[[], Any]] = {
        "lapse": lambda: here.lapse(lease.job_id) if _is_active(here, lease) else None,
        "ask": lambda: request_cancel(lease.job_id, reason="user"),
        "make_due": lambda: here.make_due(lease.job_id) if _is_queued(here, lease) else None,
        "confirm_cancel_lapsed": lambda: confirm_cancel_lapsed(lease.job_id, grace_seconds=30),
    }
    return settled(acts.get(step, lambda: EDGES[step](here, lease)))


def _is_active(here: World, lease: Lease) -> bool:
    return here.job(lease.job_id).lifecycle_status in ACTIVE


def _is_queued(here: World, lease: Lease) -> bool:
    return here.job(lease.job_id).lifecycle_status == "queued"


def _stored(here: World, lease: Lease) -> dict[str, Any]:
    job = here.job(lease.job_id)
    return {
        "status": job.lifecycle_status,
        "attempt_no": job.attempt_no,
        "retry_count": job.retry_count,
        "crash_count": job.crash_count,
        "hand_back_count": job.hand_back_count,
        "is_asked": job.cancel_requested_at is not None,
        "edges": len(history()),
    }


# Steps that go on are drawn more often than those that end the job.
_ON = ("claim", "lapse", "expire", "requeue", "make_due", "release_for_retry", "hand_back")
STEPS = st.lists(
    st.tuples(
        st.one_of(st.sampled_from(_ON), st.sampled_from(("claim", *BY_HOLDER, *BY_ID, *BESIDE))),
        st.integers(0, 2),
    ),
    max_size=30,
)
CRASH = [("claim", 0), ("lapse", 0), ("expire", 0), ("requeue", 0), ("make_due", 0)]


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example([*CRASH, *CRASH, *CRASH, *CRASH, ("give_up", 0)])
@example([("claim", 0), ("ask", 0), ("lapse", 0), ("expire", 0), ("requeue", 0), ("cancel", 0)])
@given(STEPS)
def test_any_sequence_of_edges_goes_as_the_contract_says(
    here: World, steps: list[tuple[str, int]]
) -> None:
    """A step is (edge, how many attempts ago its holder had the job)."""
    sql("DELETE FROM ai_job; DELETE FROM outbox_event")
    job, job_id = Job(), here.create().id
    for step, ago in steps:
        attempt_no = max(job.attempt_no - ago, 0)
        expected = by_contract(job, step, attempt_no)
        outcome = _take(here, Lease(job_id, attempt_no, here.engine.holder), step)
        if isinstance(expected, Job):
            assert not isinstance(outcome, ModelError), (step, outcome)
            job = expected
        else:
            assert type(outcome) is expected, (step, outcome)
        told = {name: getattr(job, name) for name in _stored(here, Lease(job_id, 0, ""))}
        assert _stored(here, Lease(job_id, 0, "")) == told, step
    _events_fit(job)


def _events_fit(job: Job) -> None:
    """One event per way into the queue, one for an end, none twice."""
    rewinds = [line for line in history() if line["to_status"] == "queued"]
    ends = [line for line in history() if line["to_status"] in TERMINAL]
    found = sql("SELECT event_type FROM outbox_event")
    kinds = [row["event_type"] for row in found]
    assert kinds.count("ai.job.enqueue") == len(rewinds)
    assert len(kinds) - len(rewinds) == len(ends) == (job.status in TERMINAL)
