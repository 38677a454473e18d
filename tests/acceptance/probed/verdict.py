"""What must be true of a job that ended after a crash, whatever the crash.

Expected values are the contract's: one of everything, and a history that is a path of listed edges.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from uuid import UUID

from aijobs.models.transitions import is_listed
from tests.acceptance.probed.scene import Scene

ITEMS = 5


def check_end(scene: Scene, job_id: UUID, status: str) -> dict[str, Any]:
    """The job ended so, once, with everything that belongs to its end; returns its row."""
    [job] = scene.rows("SELECT * FROM ai_job WHERE id = %(job)s", job=job_id)
    assert job["lifecycle_status"] == status
    assert job["finished_at"] is not None and job["completed_at"] is not None
    assert (job["locked_by"], job["lock_until"]) == (None, None)
    _check_history(scene, job)
    notified = scene.rows("SELECT kind FROM notification WHERE job_id = %(job)s", job=job_id)
    assert notified == [{"kind": f"job_{status}"}]
    held = scene.rows(
        "SELECT settled_at IS NOT NULL AS settled FROM ai_job_reservation WHERE job_id = %(job)s",
        job=job_id,
    )
    assert held == [{"settled": True}]
    ends = scene.rows(
        "SELECT event_type, status FROM outbox_event WHERE aggregate_id = %(job)s "
        "AND event_type <> 'ai.job.enqueue'",
        job=job_id,
    )
    named = {"succeeded": "completed"}.get(status, status)
    assert ends == [{"event_type": f"ai.job.{named}", "status": "published"}]
    if status == "succeeded":
        _check_retries(scene, job)
        _check_products(scene, job)
    else:
        assert _counts(scene, job_id) == [0, 0, 0]
    return job


def check_calls(scene: Scene, job_id: UUID, states: list[str], *, unsent: int = 0) -> None:
    """The journal holds calls that ended so, and the provider's own log the same calls.

    `unsent`: calls that were in the journal when their process died, and had not yet left it.
    """
    calls = scene.rows("SELECT * FROM ai_usage_log WHERE job_id = %(job)s", job=job_id)
    calls.sort(key=lambda call: call["call_no"])
    assert [call["state"] for call in calls] == states
    assert [call["call_no"] for call in calls] == list(range(1, len(states) + 1))
    assert len(scene.provider.calls) == len(states) - unsent
    for call in calls:
        assert call["finished_at"] is not None
        assert call["raw_response"] is None, "raw answers are dropped at the end"
        assert call["success"] == (call["state"] == "completed")
        if call["state"] != "failed":  # a call that the provider refused may cost nothing
            assert call["estimated"] == (call["state"] in ("cut", "unknown"))
            assert call["input_tokens"] > 0 and call["output_tokens"] > 0
    paid = [call["request_hash"] for call in calls if call["state"] == "completed"]
    assert len(set(paid)) == len(paid), "a completed answer was asked for again"


def _check_history(scene: Scene, job: dict[str, Any]) -> None:
    steps = scene.rows(
        "SELECT * FROM job_transition WHERE job_id = %(id)s ORDER BY id", id=job["id"]
    )
    assert (steps[0]["from_status"], steps[0]["to_status"]) == (None, "queued")
    assert steps[-1]["to_status"] == job["lifecycle_status"]
    for before, after in pairwise(steps):
        assert after["from_status"] == before["to_status"]
        grown = after["attempt_no"] - before["attempt_no"]
        assert grown == (1 if after["cause"] == "claim" else 0)
        is_checkpoint = after["cause"] == "checkpoint" and after["to_status"] == "running"
        assert is_checkpoint or is_listed(after["from_status"], after["to_status"])
    causes = [step["cause"] for step in steps]
    assert job["attempt_no"] == causes.count("claim")
    lapses = [s for s in steps if s["actor"] == "reaper" and s["from_status"] == "running"]
    assert job["crash_count"] == len(lapses)
    assert causes.count("expire") == causes.count("requeue") + causes.count("give_up")


def _check_retries(scene: Scene, job: dict[str, Any]) -> None:
    """One for each fault that may pass and for each lapse, but for those of a validated result."""
    steps = scene.rows("SELECT * FROM job_transition WHERE job_id = %(id)s", id=job["id"])
    released = [step for step in steps if step["cause"] == "release_for_retry"]
    lapsed = [s for s in steps if s["cause"] == "requeue" and not _is_validated(scene, s)]
    assert job["retry_count"] == len(released) + len(lapsed)


def _is_validated(scene: Scene, step: dict[str, Any]) -> bool:
    """Whether the job had a validated result before this step."""
    found = scene.rows(
        "SELECT 1 FROM ai_job_result WHERE job_id = %(job_id)s AND created_at < %(at)s", **step
    )
    return bool(found)


def _check_products(scene: Scene, job: dict[str, Any]) -> None:
    assert _counts(scene, job["id"]) == [ITEMS, ITEMS, ITEMS]
    candidates = scene.rows(
        "SELECT c.ordinal, c.state, q.content_hash = c.content_hash AS is_same "
        "FROM quiz_question_candidate c JOIN quiz_question q ON q.id = c.published_id "
        "JOIN ai_job_artifact a ON a.artifact_id = c.id AND a.ordinal = c.ordinal "
        "WHERE c.job_id = %(id)s AND a.job_id = %(id)s ORDER BY c.ordinal",
        id=job["id"],
    )
    published = [{"ordinal": n, "state": "published", "is_same": True} for n in range(ITEMS)]
    assert candidates == published
    [result] = scene.rows("SELECT * FROM ai_job_result WHERE job_id = %(id)s", id=job["id"])
    assert (result["state"], result["output_hash"]) == ("accepted", job["output_hash"])
    assert result["delivered_count"] == ITEMS
    assert job["progress"] == 100 and job["error_code"] is None


def _counts(scene: Scene, job_id: UUID) -> list[int]:
    """Candidates, artifacts and published rows of a job."""
    tables = ("quiz_question_candidate", "ai_job_artifact", "quiz_question")
    return [
        scene.rows(f"SELECT count(*) FROM {table} WHERE job_id = %(id)s", id=job_id)[0]["count"]
        for table in tables
    ]
