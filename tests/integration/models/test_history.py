"""The line of history and the event that are written with each edge."""

from __future__ import annotations

import pytest

from aijobs.models import database as db
from aijobs.models.lifecycle import checkpoint, reject, requeue, succeed
from tests.integration.models.edges import (
    CONTRACT,
    EDGES,
    change,
    events,
    history,
    made,
    nothing_changes,
)
from tests.integration.models.states import FAILURE, claimed, created, expire_now, running, sql
from tests.world import World

#: edge -> (state, cause, actor, event type, error code in the history); holder stands for its name.
WRITES: dict[str, tuple[str, str, str, str | None, str | None]] = {
    "claim": ("queued", "claim", "holder", None, None),
    "begin": ("locked", "begin", "holder", None, None),
    "succeed": ("running", "succeed", "holder", "ai.job.completed", None),
    "fail": ("running", "fail", "holder", "ai.job.failed", "PROVIDER_TIMEOUT"),
    "release_for_retry": (
        "running",
        "release_for_retry",
        "holder",
        "ai.job.enqueue",
        "PROVIDER_TIMEOUT",
    ),
    "hand_back": ("running", "hand_back:shutdown", "holder", "ai.job.enqueue", None),
    "expire": ("running", "expire", "reaper", None, None),
    "requeue": ("expired", "requeue", "reaper", "ai.job.enqueue", None),
    "give_up": ("expired", "give_up", "reaper", "ai.job.failed", "PROVIDER_TIMEOUT"),
    "cancel": ("queued", "cancel", "user:1", "ai.job.cancelled", "JOB_CANCELLED"),
    "confirm_cancel": (
        "running",
        "confirm_cancel",
        "holder",
        "ai.job.cancelled",
        "JOB_CANCELLED",
    ),
    "reject": ("queued", "reject:dead_event", "relay:1", "ai.job.failed", "PROVIDER_TIMEOUT"),
}


def test_a_new_job_has_its_history_its_reservation_and_its_event(here: World) -> None:
    job = created(here)
    assert history() == [
        {
            "from_status": None,
            "to_status": "queued",
            "attempt_no": 0,
            "cause": "create",
            "actor": "test",
            "error_code": None,
        }
    ]
    held = sql("SELECT job_id, jobs, tokens, settled_at FROM ai_job_reservation")
    assert held == [{"job_id": job.id, "jobs": 1, "tokens": 1000, "settled_at": None}]
    assert events() == [("ai.job.enqueue", f"enqueue:{job.id}:1", "pending")]
    assert (job.dispatch_no, job.attempt_no, job.retry_count) == (1, 0, 0)


@pytest.mark.parametrize("edge", WRITES)
def test_an_edge_appends_one_line_of_history(here: World, edge: str) -> None:
    state, cause, actor, _, error_code = WRITES[edge]
    lease = made(here, edge, state)
    before = history()
    EDGES[edge](here, lease)
    job = here.job(lease.job_id)
    assert history()[: len(before)] == before
    assert history()[len(before) :] == [
        {
            "from_status": state,
            "to_status": CONTRACT[edge][1],
            "attempt_no": job.attempt_no,
            "cause": cause,
            "actor": here.engine.holder if actor == "holder" else actor,
            "error_code": error_code,
        }
    ]


@pytest.mark.parametrize("edge", WRITES)
def test_an_edge_writes_the_event_of_the_contract(here: World, edge: str) -> None:
    state, _, _, event_type, _ = WRITES[edge]
    lease = made(here, edge, state)
    before, dispatched = events(), here.job(lease.job_id).dispatch_no
    EDGES[edge](here, lease)
    new = [event for event in events() if event not in before]
    if event_type is None:
        assert new == []
        return
    job = here.job(lease.job_id)
    if event_type == "ai.job.enqueue":
        assert job.dispatch_no == dispatched + 1
        key = f"enqueue:{job.id}:{job.dispatch_no}"
    else:
        key = f"{event_type}:{job.id}"
    assert new == [(event_type, key, "pending")]
    written = sql("SELECT * FROM outbox_event WHERE dedupe_key = %(key)s", key=key)[0]
    assert (written["aggregate_type"], written["aggregate_id"]) == ("ai_job", job.id)
    assert written["payload"] == {
        "jobId": str(job.id),
        "jobType": "quiz_generation",
        "queueName": "ai-interactive",
        "priority": job.priority,
    }
    if event_type == "ai.job.enqueue":
        assert (written["available_at"], written["rank_at"]) == (job.available_at, job.rank_at)


@pytest.mark.parametrize("edge", WRITES)
def test_a_line_of_history_has_no_error_of_an_earlier_attempt(here: World, edge: str) -> None:
    state, *_, error_code = WRITES[edge]
    lease = made(here, edge, state)
    change(
        lease,
        "error_code = 'OUTPUT_EMPTY', public_error_message = 'old', internal_error_message = 'old'",
    )
    EDGES[edge](here, lease)
    assert history()[-1]["error_code"] == error_code
    job = here.job(lease.job_id)
    if error_code is not None:
        assert job.error_code == error_code
        assert "old" not in (job.public_error_message, job.internal_error_message)


def test_an_event_that_is_there_already_does_not_stop_its_edge(here: World) -> None:
    lease = running(here)
    key = f"ai.job.completed:{lease.job_id}"
    sql(
        "INSERT INTO outbox_event (event_type, aggregate_id, dedupe_key, payload) "
        "VALUES ('ai.job.completed', %(id)s, %(key)s, '{}')",
        id=lease.job_id,
        key=key,
    )
    before = events()
    succeed(lease, output_hash="1" * 64)
    assert here.job(lease.job_id).lifecycle_status == "succeeded"
    assert events() == before


def test_a_runtimes_job_is_polled_for_so_nothing_is_enqueued(here: World) -> None:
    job = created(here, lane="runtime")
    assert events() == []
    reject(job.id, FAILURE, cause="definition_removed", actor="system")
    assert events() == [("ai.job.failed", f"ai.job.failed:{job.id}", "pending")]


def test_a_checkpoint_renews_the_lease_and_appends_to_the_history(here: World) -> None:
    lease = running(here)
    change(lease, "lock_until = now() + interval '1 s'")
    job = checkpoint(lease, stage="EXECUTE", progress=30, lease_seconds=60, calls=2)
    assert (job.lifecycle_status, job.stage, job.progress, job.call_count) == (
        "running",
        "EXECUTE",
        30,
        2,
    )
    assert sql("SELECT lock_until > now() + interval '50 s' AS renewed FROM ai_job") == [
        {"renewed": True}
    ]
    assert history()[-1] == {
        "from_status": "running",
        "to_status": "running",
        "attempt_no": 1,
        "cause": "checkpoint",
        "actor": here.engine.holder,
        "error_code": None,
    }


def test_an_edge_inside_a_transaction_is_undone_with_it(here: World) -> None:
    lease = running(here)

    def work() -> None:
        succeed(lease, output_hash="1" * 64)
        raise KeyError("of the projector")

    with nothing_changes(), pytest.raises(KeyError):
        db.transact("project", work)


def test_an_expired_job_keeps_its_attempt_number_for_the_next(here: World) -> None:
    lease = running(here)
    expire_now(here, lease.job_id)
    requeue(lease.job_id, delay_seconds=0)
    second = claimed(here)
    assert second is not None and second.attempt_no == lease.attempt_no + 1
