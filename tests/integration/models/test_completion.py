"""What follows the end of a job: once, together with completed_at, for the job's dependents too."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from aijobs.engine import stages
from aijobs.models import completion, jobs
from aijobs.models import database as db
from aijobs.models.lifecycle import succeed
from tests.integration.models.edges import events, nothing_changes
from tests.integration.models.states import (
    FAILURE,
    STATES,
    TERMINAL,
    claimed,
    created,
    job_in,
    running,
    sql,
)
from tests.world import World


def _causes(job_id: UUID) -> list[str]:
    return [line.cause for line in db.read(lambda: jobs.history(job_id))]


@pytest.mark.parametrize(
    ("status", "error_code"),
    [("succeeded", None), ("failed", "PROVIDER_TIMEOUT"), ("cancelled", "JOB_CANCELLED")],
)
def test_the_user_is_told_how_their_job_ended(
    here: World, status: str, error_code: str | None
) -> None:
    job_id = job_in(here, status).job_id
    assert stages.complete(job_id)
    assert sql("SELECT user_id, job_id, kind, payload, read_at FROM notification") == [
        {
            "user_id": here.user_id,
            "job_id": job_id,
            "kind": f"job_{status}",
            "payload": {"jobType": "quiz_generation", "errorCode": error_code},
            "read_at": None,
        }
    ]
    assert here.job(job_id).completed_at is not None


@pytest.mark.parametrize("status", TERMINAL)
def test_an_end_is_completed_once_whoever_tells_it(here: World, status: str) -> None:
    job_id = job_in(here, status).job_id
    assert stages.complete(job_id)
    with nothing_changes():
        assert not stages.complete(job_id)


@pytest.mark.parametrize("status", sorted(set(STATES) - set(TERMINAL)))
def test_a_job_that_has_not_ended_is_not_completed(here: World, status: str) -> None:
    job_id = job_in(here, status).job_id
    with nothing_changes():
        assert not stages.complete(job_id)


def test_a_job_that_is_gone_is_not_completed(here: World) -> None:
    with nothing_changes():
        assert not stages.complete(uuid4())


def test_the_raw_answers_go_and_a_call_left_open_is_closed(here: World) -> None:
    lease = running(here)
    sql(
        "INSERT INTO ai_usage_log (id, job_id, user_id, attempt_no, call_no, call_id, state, tier, "
        "provider, model, credential_mode, prompt_key, prompt_version, request_hash, success, "
        "raw_response, output_tokens) SELECT gen_random_uuid(), %(id)s, %(id)s, 1, no, '1-' || no, "
        "state, 't', 'p', 'm', 'c', 'k', 'v', 'h', state = 'completed', raw, 70 "
        "FROM (VALUES (1, 'completed', 'text'), (2, 'started', NULL)) AS call (no, state, raw)",
        id=lease.job_id,
    )
    succeed(lease, output_hash="1" * 64)
    stages.complete(lease.job_id)
    rows = sql(
        "SELECT state, success, raw_response, output_tokens, finished_at IS NOT NULL AS ended "
        "FROM ai_usage_log ORDER BY call_no"
    )
    common = {"raw_response": None, "output_tokens": 70, "ended": True}
    assert rows == [
        {"state": "completed", "success": True, **common},
        {"state": "unknown", "success": False, **common},
    ]


def test_a_success_wakes_those_that_waited_for_it(here: World) -> None:
    lease = running(here)
    children = [created(here, after=(lease.job_id,)) for _ in range(2)]
    stranger = created(here, after=(running_parent(here),))
    succeed(lease, output_hash="1" * 64)
    before = events()
    assert stages.complete(lease.job_id)
    new = sorted(key for _, key, _ in events() if key not in {key for _, key, _ in before})
    assert new == sorted(f"enqueue:{child.id}:2" for child in children)
    assert here.job(stranger.id).dispatch_no == 1
    assert [here.job(child.id).lifecycle_status for child in children] == ["queued", "queued"]
    first = claimed(here)
    assert first is not None and first.job_id == children[0].id


def running_parent(here: World) -> UUID:
    """A parent that is still at work, on a queue where nothing else is claimed."""
    job = created(here, queue_name="ai-background")
    sql(
        "UPDATE ai_job SET lifecycle_status = 'running', attempt_no = 1, locked_by = 'x', "
        "locked_at = now(), lock_until = now() + interval '1 h', started_at = now() "
        "WHERE id = %(id)s",
        id=job.id,
    )
    return job.id


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_a_job_whose_parent_did_not_succeed_fails_with_it(here: World, status: str) -> None:
    parent = job_in(here, status).job_id
    children = [created(here, after=(parent,)) for _ in range(2)]
    assert stages.complete(parent)
    for child in children:
        after = here.job(child.id)
        assert (after.lifecycle_status, after.error_code) == ("failed", "DEPENDENCY_FAILED")
        assert str(parent) in str(after.internal_error_message)
        assert str(parent) not in str(after.public_error_message)
        assert _causes(child.id) == ["create", "reject:dependency_failed"]
        assert ("ai.job.failed", f"ai.job.failed:{child.id}", "pending") in events()


def test_a_failure_goes_down_a_chain_one_end_at_a_time(here: World) -> None:
    parent = job_in(here, "failed").job_id
    child = created(here, after=(parent,))
    grandchild = created(here, after=(child.id,))
    stages.complete(parent)
    assert here.job(grandchild.id).lifecycle_status == "queued"
    stages.complete(child.id)
    assert here.job(grandchild.id).error_code == "DEPENDENCY_FAILED"


def test_a_child_that_is_cancelled_already_is_left_alone(here: World) -> None:
    parent = job_in(here, "failed").job_id
    child = created(here, after=(parent,))
    sql(
        "UPDATE ai_job SET lifecycle_status = 'cancelled', finished_at = now() WHERE id = %(id)s",
        id=child.id,
    )
    stages.complete(parent)
    assert _causes(child.id) == ["create"]


def test_orphans_are_found_and_rejected_where_the_completion_was_lost(here: World) -> None:
    good, bad = job_in(here, "succeeded").job_id, job_in(here, "failed").job_id
    waits = created(here, after=(good,), queue_name="ai-background")
    orphan = created(here, after=(good, bad), queue_name="ai-background")
    assert completion.orphans(10) == [bad]
    rejected = db.transact("reject", lambda: completion.reject_dependents(bad, FAILURE))
    assert rejected == 1
    assert completion.orphans(10) == []
    assert here.job(orphan.id).lifecycle_status == "failed"
    assert here.job(waits.id).lifecycle_status == "queued"


def test_orphans_are_found_in_batches(here: World) -> None:
    parents = [job_in(here, "failed").job_id for _ in range(3)]
    for parent in parents:
        created(here, after=(parent,))
    assert len(completion.orphans(2)) == 2
    assert set(completion.orphans(10)) == set(parents)
