"""PREPARE, RESOLVE, PROJECT and COMPLETE: each does its part once, and what is gone is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from uuid import uuid4

import peewee
import pytest

from aijobs.engine import stages
from aijobs.engine.cut import CutReason
from aijobs.engine.job_types import BUILTIN
from aijobs.engine.registry import Registry
from aijobs.engine.stages import Fault, Lost, Next
from aijobs.models import learner, probes
from aijobs.models.errors import DatabaseAway
from aijobs.models.lifecycle import cancel
from tests.integration.engine.seen import causes, events, rows
from tests.scripted_provider import ScriptedProvider
from tests.world import World, whole_database

QUEUE = "ai-interactive"


@contextmanager
def probed(hook: Callable[[str], None]) -> Iterator[None]:
    probes.install(hook)
    try:
        yield
    finally:
        probes.install(None)


def _losing_the_answer(point: str, times: int) -> Callable[[str], None]:
    """The connection ends after a commit, before its answer has arrived, so many times."""
    left = [times]

    def hook(reached: str) -> None:
        if reached == point and left[0] > 0:
            left[0] -= 1
            raise peewee.OperationalError("server closed the connection unexpectedly")

    return hook


def _types(world: World, **changes: Any) -> World:
    types = [replace(definition, **changes) for definition in BUILTIN]
    return replace(world, engine=replace(world.engine, registry=Registry(types)))


# PREPARE


def test_nothing_to_claim_is_a_quiet_exit(here: World) -> None:
    before = whole_database()
    assert stages.prepare(here.engine, QUEUE) is None
    here.create("learning_state_analysis", targetType="user", targetId=str(here.user_id))
    assert stages.prepare(here.engine, QUEUE) is None, "it is another queue's"
    assert here.engine.attempts.all() == []
    assert {name for name, lines in whole_database().items() if lines != before[name]} == {
        *("ai_job", "ai_job_reservation", "ai_job_snapshot", "job_transition", "outbox_event"),
        *("user_ai_settings", "user_ai_usage_daily", "user_ai_usage_monthly"),
        "platform_usage_daily",
    }


def test_a_claim_is_an_attempt_with_a_lease(here: World) -> None:
    job_id = here.create().id
    attempt = here.claim()
    job = here.job(job_id)
    assert (job.lifecycle_status, job.stage, job.progress) == ("running", "PREPARE", 10)
    assert (job.attempt_no, job.locked_by) == (1, here.engine.holder)
    assert job.started_at == job.locked_at
    left = rows("SELECT extract(epoch FROM lock_until - now())::float AS s FROM ai_job")[0]["s"]
    assert 50 < left <= 60
    assert here.engine.attempts.all() == [attempt]
    assert 110 < attempt.cut.remaining() <= 120
    assert attempt.is_live()


@pytest.mark.parametrize("known", ["nothing", "older versions", "other types"])
def test_what_an_executor_does_not_know_stays_queued(here: World, known: str) -> None:
    job_id = here.create().id
    types = [definition for definition in BUILTIN if definition.job_type != "quiz_generation"]
    if known == "older versions":
        rows("UPDATE ai_job SET definition_version = 2")
        types = list(BUILTIN)
    elif known == "nothing":
        types = []
    ignorant = replace(here, engine=replace(here.engine, registry=Registry(types)))
    before = whole_database()
    assert stages.prepare(ignorant.engine, QUEUE) is None
    assert whole_database() == before
    assert here.job(job_id).lifecycle_status == "queued"
    newer = _types(here, version=2)
    claimed = stages.prepare(newer.engine, QUEUE)
    assert claimed is not None
    assert claimed.job.id == job_id


@pytest.mark.parametrize("losses", [1, 2])
def test_a_claim_whose_answer_was_lost_is_not_left_to_its_lease(here: World, losses: int) -> None:
    """One loss is tried again at once; with two the database is away. The job is held anyhow."""
    first = here.create().id
    attempt = None
    with probed(_losing_the_answer("claim.after_commit", losses)):
        if losses == 2:
            with pytest.raises(DatabaseAway):
                stages.prepare(here.engine, QUEUE)
        else:
            attempt = stages.prepare(here.engine, QUEUE)
    second = here.create().id
    attempt = attempt or stages.prepare(here.engine, QUEUE)
    assert attempt is not None
    assert attempt.job.id == first
    assert here.job(first).attempt_no == 1
    assert here.job(second).lifecycle_status == "queued"
    here.run(attempt)
    assert here.job(first).lifecycle_status == "succeeded"
    assert here.claim().job.id == second


def test_a_claim_that_never_reached_the_database_is_made_again(here: World) -> None:
    job_id = here.create().id
    with probed(_losing_the_answer("claim.before_commit", 1)):
        attempt = stages.prepare(here.engine, QUEUE)
    assert attempt is not None
    assert (attempt.job.id, attempt.job.attempt_no) == (job_id, 1)


def test_a_job_that_is_under_way_is_not_adopted(here: World) -> None:
    first = here.create().id
    here.claim()
    with probed(_losing_the_answer("claim.before_commit", 2)), pytest.raises(DatabaseAway):
        stages.prepare(here.engine, QUEUE)
    assert stages.prepare(here.engine, QUEUE) is None
    assert here.job(first).attempt_no == 1


def test_a_process_that_stops_hands_a_late_claim_back(here: World) -> None:
    job_id = here.create().id
    here.engine.attempts.drain(0)
    attempt = here.claim()
    assert attempt.cut.reason is CutReason.SHUTDOWN
    here.run(attempt)
    job = here.job(job_id)
    assert (job.lifecycle_status, job.retry_count, job.hand_back_count) == ("queued", 0, 1)


# RESOLVE


def _resolved(world: World, attempt: Any) -> stages.Resolved:
    outcome = stages.resolve(world.engine, attempt)
    assert isinstance(outcome, Next)
    return outcome.value


def test_resolving_writes_nothing_and_comes_out_the_same(here: World) -> None:
    here.create(questionCount=3)
    attempt = here.claim()
    before = whole_database()
    first, second = _resolved(here, attempt), _resolved(here, attempt)
    assert whole_database() == before
    assert first == second
    assert first.request.request_hash == second.request.request_hash
    assert (first.params.requested_count, first.validated) == (3, None)
    assert first.params.refs == frozenset(first.refs) == {f"k{n}" for n in range(1, 7)}
    assert first.request.max_tokens == first.definition.max_output_tokens
    assert "exactly 3" in first.request.messages[1].content


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE ai_job_snapshot SET expires_at = now() - interval '1 second'",
        "DELETE FROM ai_job_snapshot",
    ],
)
def test_a_snapshot_that_is_expired_or_gone_is_built_again_and_the_checkpoint_dropped(
    wired: World, server: ScriptedProvider, change: str
) -> None:
    """Refs may have moved: the answer that was paid for is about other points now."""
    job_id = wired.create(questionCount=1).id
    attempt = wired.claim()
    resolved = _resolved(wired, attempt)
    assert isinstance(stages.execute(wired.engine, attempt, resolved), Next)
    assert rows("SELECT state FROM ai_job_result") == [{"state": "validated"}]
    (first_point,) = rows("SELECT id FROM knowledge_point ORDER BY position LIMIT 1")
    assert learner.delete_point(wired.base_id, first_point["id"])
    rows(change)
    again = _resolved(wired, attempt)
    assert rows("SELECT 1 FROM ai_job_result") == []
    assert again.validated is None
    assert len(again.snapshot.content["items"]) == 5
    assert again.snapshot.content_hash != resolved.snapshot.content_hash
    (stored,) = rows("SELECT *, expires_at > now() AS fresh FROM ai_job_snapshot")
    assert (stored["content"], stored["fresh"]) == (again.snapshot.content, True)
    assert stored["content_hash"] == again.snapshot.content_hash
    wired.run(attempt)
    assert wired.job(job_id).lifecycle_status == "succeeded"
    assert len(server.calls) == 2


def test_an_equal_snapshot_that_is_built_again_asks_nothing_new(
    wired: World, server: ScriptedProvider
) -> None:
    job_id = wired.create().id
    attempt = wired.claim()
    assert isinstance(stages.execute(wired.engine, attempt, _resolved(wired, attempt)), Next)
    attempt.job = wired.job(job_id)  # a later attempt reads how many calls there were
    rows("DELETE FROM ai_job_snapshot")
    wired.run(attempt)
    assert wired.job(job_id).lifecycle_status == "succeeded"
    assert len(server.calls) == 1


@pytest.mark.parametrize("gone", ["the base", "its points", "the chosen point"])
def test_a_target_that_is_gone_is_an_invalid_snapshot(here: World, gone: str) -> None:
    (point,) = rows("SELECT id FROM knowledge_point ORDER BY position LIMIT 1")
    job_id = here.create(pointIds=[str(point["id"])]).id if "chosen" in gone else here.create().id
    rows("UPDATE ai_job_snapshot SET expires_at = now() - interval '1 second'")
    if gone == "the base":
        learner.delete_base(here.base_id, here.user_id)
    elif gone == "its points":
        rows("DELETE FROM knowledge_point")
    else:
        learner.delete_point(here.base_id, point["id"])
    here.run(here.claim())
    job = here.job(job_id)
    assert (job.lifecycle_status, job.error_code) == ("failed", "INVALID_SNAPSHOT")
    assert job.internal_error_message
    assert str(point["id"]) not in (job.public_error_message or "")
    assert job.retry_count == 0


def test_a_lost_lease_rebuilds_no_snapshot(here: World) -> None:
    job_id = here.create().id
    attempt = here.claim()
    rows("DELETE FROM ai_job_snapshot")
    rows(
        "UPDATE ai_job SET lifecycle_status = 'queued', locked_by = NULL, locked_at = NULL, "
        "lock_until = NULL WHERE id = %(id)s",
        id=job_id,
    )
    before = whole_database()
    assert isinstance(stages.resolve(here.engine, attempt), Lost)
    assert whole_database() == before


def test_an_answer_to_judge_is_read_from_its_own_row(here: World) -> None:
    (point,) = rows("SELECT id FROM knowledge_point ORDER BY position LIMIT 1")
    target = {"targetType": "knowledge_point", "targetId": str(point["id"])}
    job = here.create("active_recall", **target, answerText="It holds the genome. me@mail.example")
    rows("DELETE FROM ai_job_snapshot")
    resolved = _resolved(here, here.claim("ai-analysis"))
    assert resolved.snapshot.content["answer_text"] == "It holds the genome. [mail]"
    stored = rows("SELECT content FROM ai_job_snapshot WHERE job_id = %(id)s", id=job.id)
    assert "me@mail.example" not in str(stored)


# PROJECT


def _executed(world: World) -> tuple[Any, stages.Resolved, Any]:
    attempt = world.claim()
    resolved = _resolved(world, attempt)
    outcome = stages.execute(world.engine, attempt, resolved)
    assert isinstance(outcome, Next)
    return attempt, resolved, outcome.value


def test_a_target_deleted_before_its_result_is_projected_fails_the_job(here: World) -> None:
    job_id = here.create().id
    attempt, resolved, validated = _executed(here)
    learner.delete_base(here.base_id, here.user_id)
    outcome = stages.project(here.engine, attempt, resolved, validated)
    assert isinstance(outcome, Fault)
    assert outcome.fault.code == "INVALID_SNAPSHOT"
    assert here.job(job_id).lifecycle_status == "running", "the success was rolled back"
    stages.settle(here.engine, attempt, outcome)
    job = here.job(job_id)
    assert (job.lifecycle_status, job.error_code) == ("failed", "INVALID_SNAPSHOT")
    assert rows("SELECT 1 FROM ai_job_artifact") == []


def test_projecting_twice_changes_nothing_the_second_time(here: World) -> None:
    here.create()
    attempt, resolved, validated = _executed(here)
    assert isinstance(stages.project(here.engine, attempt, resolved, validated), Next)
    before = whole_database()
    assert isinstance(stages.project(here.engine, attempt, resolved, validated), Lost)
    assert whole_database() == before


@pytest.mark.parametrize("losses", [1, 3])
def test_a_success_whose_answer_was_lost_is_a_success(here: World, losses: int) -> None:
    job_id = here.create().id
    attempt, resolved, validated = _executed(here)
    with probed(_losing_the_answer("project.after_commit", losses)):
        outcome = stages.project(here.engine, attempt, resolved, validated)
    assert isinstance(outcome, Lost)
    stages.settle(here.engine, attempt, outcome)
    assert here.job(job_id).lifecycle_status == "succeeded"
    assert causes(job_id) == ["create", "claim", "succeed"]
    assert events(job_id)[-1] == "ai.job.completed:job"


def test_a_type_without_a_projector_succeeds_with_its_result_alone(here: World) -> None:
    bare = _types(here, projector=None)
    job_id = bare.create().id
    bare.run(bare.claim())
    assert bare.job(job_id).lifecycle_status == "succeeded"
    assert rows("SELECT state FROM ai_job_result") == [{"state": "accepted"}]
    assert rows("SELECT 1 FROM ai_job_artifact") == []


@pytest.mark.parametrize("point", ["project", "execute", "call_started", "call_finished"])
def test_a_database_that_is_away_for_a_while_is_waited_out(
    wired: World, server: ScriptedProvider, point: str
) -> None:
    """While the lease may hold, a write is tried again; nothing is counted, and no call doubled."""
    server.enqueue("ok", text="not JSON")
    job_id = wired.create().id
    attempt = wired.claim()
    for side in ("before", "after"):
        with probed(_losing_the_answer(f"{point}.{side}_commit", 3)):
            wired.run(attempt)
        job = wired.job(job_id)
        assert (job.lifecycle_status, job.retry_count, job.crash_count) == ("succeeded", 0, 0)
        assert len(server.calls) == 2
        job_id = wired.create().id
        server.calls.clear()
        server.enqueue("ok", text="not JSON")
        attempt = wired.claim()


def test_patience_ends_with_the_lease(here: World) -> None:
    job_id = here.create().id
    attempt, resolved, validated = _executed(here)
    attempt.cut.cut(CutReason.LEASE_LOST)
    with probed(_losing_the_answer("project.before_commit", 10)):
        outcome = stages.project(here.engine, attempt, resolved, validated)
    assert isinstance(outcome, Lost)
    assert here.job(job_id).lifecycle_status == "running"


# COMPLETE


def test_completing_tells_the_user_once(here: World) -> None:
    job = here.create()
    here.run(here.claim())
    assert here.job(job.id).completed_at is None
    assert stages.complete(job.id) is not None
    told = rows("SELECT user_id, kind, payload, read_at FROM notification")
    assert told == [
        {
            "user_id": here.user_id,
            "kind": "job_succeeded",
            "payload": {"jobType": "quiz_generation", "errorCode": None},
            "read_at": None,
        }
    ]
    assert rows("SELECT DISTINCT raw_response FROM ai_usage_log") == [{"raw_response": None}]
    before = whole_database()
    assert stages.complete(job.id) is None
    assert whole_database() == before


def test_what_has_not_ended_is_not_completed(here: World) -> None:
    queued, running = here.create().id, here.create().id
    here.claim()
    before = whole_database()
    for job_id in (queued, running, uuid4()):
        assert stages.complete(job_id) is None
    assert whole_database() == before


def test_a_success_wakes_those_that_waited_for_it(here: World) -> None:
    parent, other = here.create(), here.create(priority=90)
    child = here.create(after=[str(parent.id)])
    later = here.create(after=[str(parent.id), str(other.id)])
    here.finish(parent)
    assert events(child.id) == ["enqueue:job:1", "enqueue:job:2"]
    assert events(later.id) == ["enqueue:job:1", "enqueue:job:2"]
    here.finish(child)
    assert here.claim().job.id == other.id, "the other parent is still open"


def test_what_waited_for_a_job_that_did_not_succeed_is_rejected_down_the_chain(
    here: World,
) -> None:
    parent = here.create()
    child = here.create(after=[str(parent.id)])
    grandchild = here.create(after=[str(child.id)])
    cancel(parent.id, reason="test", actor="test")
    assert stages.complete(parent.id)
    for job, cause in ((child, parent), (grandchild, child)):
        ended = here.job(job.id)
        assert (ended.lifecycle_status, ended.error_code) == ("failed", "DEPENDENCY_FAILED")
        assert str(cause.id) in (ended.internal_error_message or "")
        assert ended.public_error_message == "A job that this one waited for did not succeed."
        assert causes(job.id)[-1] == "reject:dependency_failed"
        assert stages.complete(job.id)
    kinds = rows("SELECT kind, payload->>'errorCode' AS code FROM notification ORDER BY kind, code")
    assert kinds == [
        {"kind": "job_cancelled", "code": "JOB_CANCELLED"},
        {"kind": "job_failed", "code": "DEPENDENCY_FAILED"},
        {"kind": "job_failed", "code": "DEPENDENCY_FAILED"},
    ]


def test_a_call_that_nobody_will_finish_is_put_in_the_books(
    wired: World, server: ScriptedProvider
) -> None:
    """Its holder died, the reaper cancelled the job: COMPLETE closes the row at its bound."""
    job_id = wired.create().id
    server.script("ok", text="not JSON")

    class Killed(BaseException): ...

    def die(point: str) -> None:
        if point == "provider_call.before_send":
            raise Killed

    attempt = wired.claim()
    with probed(die), pytest.raises(Killed):
        wired.run(attempt)
    rows(
        "UPDATE ai_job SET lifecycle_status = 'expired', locked_by = NULL, locked_at = NULL, "
        "lock_until = NULL"
    )
    cancel(job_id, reason="test", actor="test")
    (started,) = rows("SELECT * FROM ai_usage_log")
    assert (started["state"], started["success"]) == ("started", None)
    stages.complete(job_id)
    (closed,) = rows("SELECT * FROM ai_usage_log")
    assert (closed["state"], closed["success"], closed["estimated"]) == ("unknown", False, True)
    assert closed["finished_at"] is not None
    assert closed["input_tokens"] == started["input_tokens"] > 0
    assert closed["output_tokens"] == started["output_tokens"] > 0
