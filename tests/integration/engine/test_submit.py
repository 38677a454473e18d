"""The steps of POST /jobs in one process: their order, their races, and what a job is made of."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import peewee
import pytest

from aijobs.engine.cancelling import NotCancellable, cancel_job
from aijobs.engine.job_types import BUILTIN
from aijobs.engine.prompting import render
from aijobs.engine.refusal import Refused
from aijobs.engine.registry import Registry
from aijobs.engine.signals import Signals
from aijobs.engine.submit import STEPS, Draft, Submitted, own_target, submit
from aijobs.models import database as db
from aijobs.models import probes
from aijobs.models.errors import JobAlreadyTerminal, JobNotFound
from tests.eventually import eventually
from tests.integration.engine.seen import causes, events, rows
from tests.world import World, whole_database


def _body(here: World, **more: Any) -> dict[str, Any]:
    target = {"targetType": "knowledge_base", "targetId": str(here.base_id)}
    return {"jobType": "quiz_generation", **target, **more}


def _submit(here: World, key: str | None = None, **more: Any) -> Submitted:
    return submit(here.engine, here.user_id, _body(here, **more), key)


def test_the_steps_come_in_the_contracts_order() -> None:
    numbers = [number for number, _ in STEPS]
    assert numbers == sorted(set(numbers))
    assert (numbers[0], numbers[-1]) == (2, 11)


def test_a_job_is_made_of_its_definition_and_its_request(here: World) -> None:
    job = _submit(here, "k", questionCount=7, priority=70).job
    definition = here.engine.registry.get("quiz_generation")
    assert (job.user_id, job.target_type, job.target_id) == (
        here.user_id,
        "knowledge_base",
        here.base_id,
    )
    assert (job.params, job.idempotency_key) == ({"questionCount": 7}, "k")
    assert (job.lane, job.queue_name, job.priority) == ("engine", "ai-interactive", 70)
    assert (job.max_retry_count, job.timeout_seconds) == (3, 120)
    assert (job.definition_version, job.prompt_version) == (1, definition.prompt_version)
    assert (job.input_schema_version, job.output_schema_version) == ("1", "1")
    assert (job.credential_mode, job.credential_id) == ("platform_key", None)
    assert (job.attempt_no, job.retry_count, job.dispatch_no) == (0, 0, 1)
    assert (job.rank_at - job.available_at).total_seconds() == 70 * 60
    assert job.id.version == 7
    assert events(job.id) == ["enqueue:job:1"]
    assert causes(job.id) == ["create"]
    (event,) = rows("SELECT payload, rank_at FROM outbox_event")
    assert event["payload"] == {
        "jobId": str(job.id),
        "jobType": "quiz_generation",
        "queueName": "ai-interactive",
        "priority": 70,
    }
    assert event["rank_at"] == job.rank_at


def test_the_reservation_is_the_bound_of_one_call(here: World) -> None:
    job = _submit(here).job
    definition = here.engine.registry.get("quiz_generation")
    (stored,) = rows("SELECT content FROM ai_job_snapshot")
    messages = render(definition, stored["content"], "0" * 16)
    bound = sum(len(m.content.encode()) for m in messages) + definition.max_output_tokens
    (held,) = rows("SELECT * FROM ai_job_reservation")
    assert (held["job_id"], held["user_id"]) == (job.id, here.user_id)
    assert (held["jobs"], held["tokens"], held["settled_at"]) == (1, bound, None)
    assert (held["credential_mode"], held["month"].day) == ("platform_key", 1)
    child = _submit(here, after=[str(job.id)]).job
    (later,) = rows("SELECT tokens FROM ai_job_reservation WHERE job_id = %(id)s", id=child.id)
    assert later["tokens"] == here.engine.settings.snapshot_bytes + definition.max_output_tokens
    assert rows("SELECT 1 FROM ai_job_snapshot WHERE job_id = %(id)s", id=child.id) == []


def test_a_dependents_snapshot_is_built_when_it_is_claimed(here: World) -> None:
    parent = _submit(here).job
    child = _submit(here, after=[str(parent.id)]).job
    here.finish(parent)
    assert here.finish(child).lifecycle_status == "succeeded"
    assert len(rows("SELECT 1 FROM ai_job_snapshot")) == 2


def test_equal_requests_in_a_dead_heat_make_one_job(here: World) -> None:
    """Both have passed the look-up of the key before either has created anything: the first does
    not commit until the second waits for the lock of their user."""
    waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = %(name)s"
    name = urlsplit(here.engine.settings.database_url).path.lstrip("/")
    met: list[str] = []

    def meet(point: str) -> None:
        if point == "create.before_commit" and not met:
            met.append(point)
            eventually(lambda: bool(db.rows(waiting, {"name": name})), 30)

    probes.install(meet)
    try:
        with ThreadPoolExecutor(2) as pool:
            done = list(pool.map(lambda _: _submit(here, "k"), range(2)))
    finally:
        probes.install(None)
    assert sorted(one.created for one in done) == [False, True]
    assert done[0].job.id == done[1].job.id
    for table in ("ai_job", "ai_job_snapshot", "ai_job_reservation", "outbox_event"):
        assert len(whole_database()[table]) == 1


def test_a_refusal_after_the_look_up_reads_the_key_once_more(here: World) -> None:
    """Its twin has created the job meanwhile and deleted the target: the job is the answer."""
    twins: list[UUID] = []

    def look_late(draft: Draft) -> None:
        if draft.header_key == "k" and not twins:
            twins.append(UUID(int=0))  # not again from within
            twins[0] = _submit(here, "k").job.id
            rows("DELETE FROM knowledge_base")
        own_target(draft)

    steps = tuple((n, look_late if n == 5 else step) for n, step in STEPS)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("aijobs.engine.submit.STEPS", steps)
        answer = _submit(here, "k")
    assert answer.created is False
    assert answer.job.id == twins[0]
    with pytest.raises(Refused) as refused:
        _submit(here, "other")
    assert refused.value.code == "TARGET_NOT_FOUND"


@pytest.mark.parametrize("side", ["before", "after"])
def test_a_create_whose_answer_was_lost_makes_one_job(here: World, side: str) -> None:
    """Without a key too: the id was made before, so the second try finds its own row."""
    left = [1]

    def lose(point: str) -> None:
        if point == f"create.{side}_commit" and left:
            left.pop()
            raise peewee.OperationalError("server closed the connection unexpectedly")

    probes.install(lose)
    try:
        done = _submit(here)
    finally:
        probes.install(None)
    assert done.created is True
    assert [row["id"] for row in rows("SELECT id FROM ai_job")] == [done.job.id]
    assert len(rows("SELECT 1 FROM outbox_event")) == 1


def test_a_mode_that_the_type_does_not_allow_is_refused(here: World) -> None:
    types = [replace(d, credential_modes=frozenset({"platform_key"})) for d in BUILTIN]
    world = replace(here, engine=replace(here.engine, registry=Registry(types)))
    before = whole_database()
    with pytest.raises(Refused) as refused:
        _submit(world, apiKeyMode="user_key")
    assert refused.value.code == "INVALID_REQUEST"
    assert [fault.field for fault in refused.value.errors] == ["apiKeyMode"]
    assert whole_database() == before


def test_cancelling_follows_a_job_that_moves_on(here: World, redis_url: str) -> None:
    """Between the two updates it was claimed, handed back, or ended: the loop finds what holds."""
    signals = Signals.connect(redis_url)
    registry = here.engine.registry

    def cancel(job_id: UUID) -> Any:
        return cancel_job(registry, signals, job_id, reason="r", actor="test")

    job_id = _submit(here).job.id
    attempt = here.claim()
    moves = ["requeue"]

    def move(point: str) -> None:
        if point == "request_cancel.before_commit" and moves:
            moves.pop()
            rows(
                "UPDATE ai_job SET lifecycle_status = 'queued', locked_by = NULL, "
                "locked_at = NULL, lock_until = NULL WHERE id = %(id)s",
                id=job_id,
            )

    probes.install(move)
    try:
        ended = cancel(job_id)
    finally:
        probes.install(None)
    assert ended.lifecycle_status == "cancelled"
    here.engine.attempts.remove(attempt)
    with pytest.raises(JobAlreadyTerminal):
        cancel(job_id)
    with pytest.raises(JobNotFound):
        cancel(uuid4())


def test_a_type_that_is_unknown_here_can_be_cancelled(here: World, redis_url: str) -> None:
    job_id = _submit(here).job.id
    here.claim()
    signals = Signals.connect(redis_url)
    asked = cancel_job(Registry(), signals, job_id, reason="r", actor="test")
    assert asked.cancel_requested_at is not None
    firm = Registry(replace(d, cancellable=False) for d in BUILTIN)
    other = _submit(here).job.id
    here.claim()
    with pytest.raises(NotCancellable):
        cancel_job(firm, signals, other, reason="r", actor="test")
    assert here.job(other).cancel_requested_at is None


def test_a_cancel_needs_no_redis(here: World) -> None:
    job_id = _submit(here).job.id
    here.claim()
    signals = Signals.connect("redis://127.0.0.1:1/0")
    asked = cancel_job(here.engine.registry, signals, job_id, reason="r", actor="test")
    assert asked.cancel_requested_at is not None
