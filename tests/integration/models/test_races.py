"""Races on real threads and connections: one winner each, and no deadlock that is not retried."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from aijobs.engine.submit import Submitted, submit
from aijobs.models import database as db
from aijobs.models.errors import JobAlreadyTerminal, JobLockConflict, LeaseLost
from aijobs.models.lifecycle import (
    Lease,
    confirm_cancel,
    expire,
    renew,
    request_cancel,
    requeue,
)
from aijobs.models.tables import AiJob
from tests.integration.models.acts import cancel_now, claim_one, count_of, edges_of, succeed_now
from tests.integration.models.rivals import beaten, blocked, race, settled
from tests.integration.models.states import (
    hasty,
    job_in,
    running,
    sql,
)
from tests.world import World, whole_database

ROUNDS = 200


def test_of_two_claims_of_one_job_one_gets_it(here: World) -> None:
    for _ in range(20):
        job = here.create()
        processes = [here.other_process(), here.other_process()]
        won = race([partial(claim_one, process) for process in processes])
        assert sorted(won, key=str) == sorted([job.id, None], key=str)
        assert here.job(job.id).attempt_no == 1
        assert edges_of(job.id) == ["create", "claim"]
        sql("DELETE FROM ai_job")


def test_a_claim_passes_over_the_job_that_another_one_is_taking(here: World) -> None:
    first, second = here.create(), here.create()
    taken: list[UUID | None] = []
    with ThreadPoolExecutor(1) as pool:

        def work() -> None:
            taken.append(claim_one(here))
            taken.append(pool.submit(claim_one, here.other_process()).result(timeout=30))

        db.transact("claim", work)
    assert taken == [first.id, second.id]


def test_many_claims_of_many_jobs_take_each_once(here: World) -> None:
    jobs = {here.create().id for _ in range(60)}
    workers = [here.other_process() for _ in range(12)]
    taken = race([partial(_claim_all, worker) for worker in workers])
    counted = Counter(job_id for claims in taken for job_id in claims)
    assert counted == dict.fromkeys(jobs, 1)
    assert {row["attempt_no"] for row in sql("SELECT attempt_no FROM ai_job")} == {1}


def _claim_all(here: World) -> list[UUID]:
    taken = []
    while (job_id := claim_one(here)) is not None:
        taken.append(job_id)
    return taken


def test_a_cancel_that_waits_for_a_claim_finds_the_job_held(here: World) -> None:
    job = here.create()
    left, outcome = beaten(lambda: claim_one(here), lambda: cancel_now(job.id))
    assert isinstance(outcome, JobLockConflict)
    assert whole_database() == left


def test_a_claim_does_not_wait_for_a_cancel_and_takes_nothing(here: World) -> None:
    job = here.create()
    with ThreadPoolExecutor(1) as pool:

        def work() -> Any:
            cancel_now(job.id)
            return pool.submit(claim_one, here).result(timeout=30)

        assert db.transact("cancel", work) is None
    assert here.job(job.id).lifecycle_status == "cancelled"
    assert claim_one(here) is None


def test_cancel_against_claim_has_one_winner(here: World) -> None:
    seen = Counter[str]()
    for _ in range(50):
        job = here.create()
        ended, taken = race([partial(cancel_now, job.id), partial(claim_one, here)])
        status = here.job(job.id).lifecycle_status
        seen[status] += 1
        if status == "cancelled":
            assert (ended.id, taken) == (job.id, None)
            assert edges_of(job.id) == ["create", "cancel"]
        else:
            assert isinstance(ended, JobLockConflict)
            assert taken == job.id
            assert edges_of(job.id) == ["create", "claim"]
        sql("DELETE FROM ai_job")
    assert set(seen) <= {"cancelled", "running"}


@pytest.mark.parametrize("first", ["cancel", "succeed"])
def test_cancel_and_success_wait_for_each_other(here: World, first: str) -> None:
    lease = running(here)
    request_cancel(lease.job_id, reason="user")
    works = {
        "cancel": lambda: confirm_cancel(lease, patient=hasty),
        "succeed": lambda: succeed_now(lease),
    }
    second = works["succeed" if first == "cancel" else "cancel"]
    left, outcome = beaten(works[first], second)
    assert isinstance(outcome, LeaseLost)
    assert whole_database() == left


def test_a_request_to_cancel_that_waits_for_a_success_asks_nobody(here: World) -> None:
    lease = running(here)
    left, outcome = beaten(
        lambda: succeed_now(lease), lambda: request_cancel(lease.job_id, reason="user")
    )
    assert outcome is None
    assert whole_database() == left


def test_cancel_against_succeed_has_one_winner_200_times(here: World) -> None:
    """The user's cancel and the holder's answer to it, against the holder's success."""
    for _ in range(ROUNDS):
        lease = running(here)
        asked, done, confirmed = race(
            [
                partial(request_cancel, lease.job_id, reason="user"),
                partial(succeed_now, lease),
                partial(_confirm_when_asked, here, lease),
            ]
        )
        status = here.job(lease.job_id).lifecycle_status
        ends = [edge for edge in edges_of(lease.job_id) if edge in ("succeed", "confirm_cancel")]
        events = sql("SELECT event_type FROM outbox_event WHERE event_type <> 'ai.job.enqueue'")
        if status == "succeeded":
            assert isinstance(done, AiJob) and isinstance(confirmed, LeaseLost)
            assert (ends, events) == (["succeed"], [{"event_type": "ai.job.completed"}])
        else:
            assert status == "cancelled"
            assert isinstance(done, LeaseLost) and asked is not None
            assert (ends, events) == (["confirm_cancel"], [{"event_type": "ai.job.cancelled"}])
        sql("DELETE FROM ai_job; DELETE FROM outbox_event")


def _confirm_when_asked(here: World, lease: Lease) -> Any:
    """What a holder does that looks for a request again and again."""
    while True:
        job = here.job(lease.job_id)
        if job.cancel_requested_at is not None or job.lifecycle_status != "running":
            return settled(lambda: confirm_cancel(lease, patient=hasty))


@pytest.mark.parametrize("first", ["expire", "succeed"])
def test_the_reaper_and_a_late_success_wait_for_each_other(here: World, first: str) -> None:
    lease = running(here)
    here.lapse(lease.job_id)
    works = {
        "expire": lambda: expire(lease.job_id, grace_seconds=30),
        "succeed": lambda: succeed_now(lease),
    }
    second = works["succeed" if first == "expire" else "expire"]
    left, outcome = beaten(works[first], second)
    assert type(outcome) is (LeaseLost if first == "expire" else JobAlreadyTerminal)
    assert whole_database() == left


def test_expire_against_succeed_has_one_winner(here: World) -> None:
    for _ in range(50):
        lease = running(here)
        here.lapse(lease.job_id)
        expired, done = race(
            [partial(expire, lease.job_id, grace_seconds=30), partial(succeed_now, lease)]
        )
        assert isinstance(expired, AiJob) != isinstance(done, AiJob)
        status = "expired" if isinstance(expired, AiJob) else "succeeded"
        assert here.job(lease.job_id).lifecycle_status == status
        sql("DELETE FROM ai_job")


def test_a_requeue_that_waits_for_a_cancel_finds_the_job_ended(here: World) -> None:
    job_id = job_in(here, "expired").job_id
    left, outcome = beaten(lambda: cancel_now(job_id), lambda: requeue(job_id, delay_seconds=0))
    assert isinstance(outcome, JobAlreadyTerminal)
    assert whole_database() == left


def test_a_cancel_that_waits_for_a_requeue_cancels_the_queued_job(here: World) -> None:
    job_id = job_in(here, "expired").job_id
    _, outcome = beaten(lambda: requeue(job_id, delay_seconds=0), lambda: cancel_now(job_id))
    assert isinstance(outcome, AiJob)
    history = sql("SELECT from_status, to_status FROM job_transition ORDER BY id DESC LIMIT 2")
    assert [(row["from_status"], row["to_status"]) for row in history] == [
        ("queued", "cancelled"),
        ("expired", "queued"),
    ]


def test_requeue_against_cancel_never_leaves_the_job_waiting(here: World) -> None:
    for _ in range(50):
        job_id = job_in(here, "expired").job_id
        race([partial(requeue, job_id, delay_seconds=0), partial(cancel_now, job_id)])
        assert here.job(job_id).lifecycle_status == "cancelled"
        assert edges_of(job_id).count("cancel") == 1
        sql("DELETE FROM ai_job")


def test_of_two_reapers_one_decides(here: World) -> None:
    lease = running(here)
    here.lapse(lease.job_id)

    def reap() -> None:
        expire(lease.job_id, grace_seconds=30)
        requeue(lease.job_id, delay_seconds=0)

    left, outcome = beaten(reap, lambda: db.transact("reap", reap))
    assert outcome is not None
    assert whole_database() == left


def test_of_fifty_equal_requests_one_creates_and_the_others_find_its_job(here: World) -> None:
    body = {
        "jobType": "quiz_generation",
        "targetType": "knowledge_base",
        "targetId": str(here.base_id),
    }
    answers = race([partial(submit, here.engine, here.user_id, body, "one-key")] * 50)
    assert all(isinstance(answer, Submitted) for answer in answers), answers
    assert Counter(answer.created for answer in answers) == {True: 1, False: 49}
    assert len({answer.job.id for answer in answers}) == 1
    tables = ("ai_job", "ai_job_snapshot", "ai_job_reservation", "outbox_event", "job_transition")
    assert {table: count_of(table) for table in tables} == dict.fromkeys(tables, 1)


def test_a_heartbeat_passes_over_a_row_that_a_stage_is_writing(here: World) -> None:
    busy, free = running(here), running(here)
    with ThreadPoolExecutor(1) as pool:

        def work() -> Any:
            succeed_now(busy)
            return pool.submit(renew, [busy, free], 60).result(timeout=30)

        renewal = db.transact("project", work)
    assert (renewal.renewed, renewal.lost) == ({free.job_id}, frozenset())


def test_two_heartbeats_and_a_cancel_wait_for_no_circle(here: World) -> None:
    leases = [running(here) for _ in range(20)]
    stop = threading.Event()

    def beat(order: list[Lease]) -> None:
        while not stop.is_set():
            renew(order, 60)

    def cancel_all() -> None:
        for lease in leases:
            request_cancel(lease.job_id, reason="user")
        stop.set()

    assert race([partial(beat, leases), partial(beat, leases[::-1]), cancel_all]) == [None] * 3
    renewal = renew(leases, 60)
    assert renewal.cancel_requested == {lease.job_id for lease in leases}


def test_waiting_for_a_lock_is_seen(here: World) -> None:
    """What the tests above rely on."""
    assert blocked() == 0
