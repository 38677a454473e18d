"""Races on real threads and connections: one winner each, and no deadlock that is not retried."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from aijobs.engine import stages
from aijobs.engine.submit import Submitted, submit
from aijobs.models import database as db
from aijobs.models import outbox
from aijobs.models.errors import JobAlreadyTerminal, JobLockConflict, LeaseLost
from aijobs.models.lifecycle import (
    Lease,
    cancel,
    confirm_cancel,
    expire,
    fail,
    renew,
    request_cancel,
    requeue,
    succeed,
)
from aijobs.models.publication import Candidate, publish_flashcards, publish_questions
from aijobs.models.tables import AiJob
from tests.integration.models.rivals import beaten, blocked, race, settled
from tests.integration.models.states import (
    FAILURE,
    claimed,
    created,
    hasty,
    job_in,
    running,
    sql,
)
from tests.world import World, whole_database

ROUNDS = 200


def _claim(here: World) -> UUID | None:
    lease = claimed(here)
    return None if lease is None else lease.job_id


def _cancel(job_id: UUID) -> AiJob:
    return cancel(job_id, reason="user", actor="user:1")


def _succeed(lease: Lease) -> AiJob:
    return succeed(lease, output_hash="1" * 64)


def test_of_two_claims_of_one_job_one_gets_it(here: World) -> None:
    for _ in range(20):
        job = here.create()
        processes = [here.other_process(), here.other_process()]
        won = race([partial(_claim, process) for process in processes])
        assert sorted(won, key=str) == sorted([job.id, None], key=str)
        assert here.job(job.id).attempt_no == 1
        assert _edges(job.id) == ["create", "claim"]
        sql("DELETE FROM ai_job")


def test_a_claim_passes_over_the_job_that_another_one_is_taking(here: World) -> None:
    first, second = here.create(), here.create()
    taken: list[UUID | None] = []
    with ThreadPoolExecutor(1) as pool:

        def work() -> None:
            taken.append(_claim(here))
            taken.append(pool.submit(_claim, here.other_process()).result(timeout=30))

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
    while (job_id := _claim(here)) is not None:
        taken.append(job_id)
    return taken


def test_a_cancel_that_waits_for_a_claim_finds_the_job_held(here: World) -> None:
    job = here.create()
    left, outcome = beaten(lambda: _claim(here), lambda: _cancel(job.id))
    assert isinstance(outcome, JobLockConflict)
    assert whole_database() == left


def test_a_claim_does_not_wait_for_a_cancel_and_takes_nothing(here: World) -> None:
    job = here.create()
    with ThreadPoolExecutor(1) as pool:

        def work() -> Any:
            _cancel(job.id)
            return pool.submit(_claim, here).result(timeout=30)

        assert db.transact("cancel", work) is None
    assert here.job(job.id).lifecycle_status == "cancelled"
    assert _claim(here) is None


def test_cancel_against_claim_has_one_winner(here: World) -> None:
    seen = Counter[str]()
    for _ in range(50):
        job = here.create()
        ended, taken = race([partial(_cancel, job.id), partial(_claim, here)])
        status = here.job(job.id).lifecycle_status
        seen[status] += 1
        if status == "cancelled":
            assert (ended.id, taken) == (job.id, None)
            assert _edges(job.id) == ["create", "cancel"]
        else:
            assert isinstance(ended, JobLockConflict)
            assert taken == job.id
            assert _edges(job.id) == ["create", "claim"]
        sql("DELETE FROM ai_job")
    assert set(seen) <= {"cancelled", "running"}


@pytest.mark.parametrize("first", ["cancel", "succeed"])
def test_cancel_and_success_wait_for_each_other(here: World, first: str) -> None:
    lease = running(here)
    request_cancel(lease.job_id, reason="user")
    works = {
        "cancel": lambda: confirm_cancel(lease, patient=hasty),
        "succeed": lambda: _succeed(lease),
    }
    second = works["succeed" if first == "cancel" else "cancel"]
    left, outcome = beaten(works[first], second)
    assert isinstance(outcome, LeaseLost)
    assert whole_database() == left


def test_a_request_to_cancel_that_waits_for_a_success_asks_nobody(here: World) -> None:
    lease = running(here)
    left, outcome = beaten(
        lambda: _succeed(lease), lambda: request_cancel(lease.job_id, reason="user")
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
                partial(_succeed, lease),
                partial(_confirm_when_asked, here, lease),
            ]
        )
        status = here.job(lease.job_id).lifecycle_status
        ends = [edge for edge in _edges(lease.job_id) if edge in ("succeed", "confirm_cancel")]
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
        "succeed": lambda: _succeed(lease),
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
            [partial(expire, lease.job_id, grace_seconds=30), partial(_succeed, lease)]
        )
        assert isinstance(expired, AiJob) != isinstance(done, AiJob)
        status = "expired" if isinstance(expired, AiJob) else "succeeded"
        assert here.job(lease.job_id).lifecycle_status == status
        sql("DELETE FROM ai_job")


def test_a_requeue_that_waits_for_a_cancel_finds_the_job_ended(here: World) -> None:
    job_id = job_in(here, "expired").job_id
    left, outcome = beaten(lambda: _cancel(job_id), lambda: requeue(job_id, delay_seconds=0))
    assert isinstance(outcome, JobAlreadyTerminal)
    assert whole_database() == left


def test_a_cancel_that_waits_for_a_requeue_cancels_the_queued_job(here: World) -> None:
    job_id = job_in(here, "expired").job_id
    _, outcome = beaten(lambda: requeue(job_id, delay_seconds=0), lambda: _cancel(job_id))
    assert isinstance(outcome, AiJob)
    history = sql("SELECT from_status, to_status FROM job_transition ORDER BY id DESC LIMIT 2")
    assert [(row["from_status"], row["to_status"]) for row in history] == [
        ("queued", "cancelled"),
        ("expired", "queued"),
    ]


def test_requeue_against_cancel_never_leaves_the_job_waiting(here: World) -> None:
    for _ in range(50):
        job_id = job_in(here, "expired").job_id
        race([partial(requeue, job_id, delay_seconds=0), partial(_cancel, job_id)])
        assert here.job(job_id).lifecycle_status == "cancelled"
        assert _edges(job_id).count("cancel") == 1
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
    assert here.job(lease.job_id).crash_count == 1


@pytest.mark.parametrize("job_type", ["quiz_generation", "flashcard_generation"])
def test_two_projections_of_one_attempt_make_one_set_of_artifacts(
    here: World, job_type: str
) -> None:
    job = here.create(job_type)
    attempt = here.claim()
    resolved = stages.resolve(here.engine, attempt)
    assert isinstance(resolved, stages.Next)
    executed = stages.execute(here.engine, attempt, resolved.value)
    assert isinstance(executed, stages.Next)
    project = partial(stages.project, here.engine, attempt, resolved.value, executed.value)
    outcomes = race([project, project])
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Lost", "Next"]
    produced = job_type.removesuffix("_generation").replace("quiz", "quiz_question")
    made = executed.value.delivered_count
    assert made
    for table in ("ai_job_artifact", f"{produced}_candidate", produced):
        assert _count(table) == made, table
    assert _edges(job.id).count("succeed") == 1


@pytest.mark.parametrize(
    ("table", "publish"),
    [("quiz_question", publish_questions), ("flashcard", publish_flashcards)],
)
def test_two_jobs_publish_the_same_content_in_opposite_order(
    here: World, table: str, publish: Any
) -> None:
    """Each round has the same 30 items, new to the knowledge base, forwards and backwards."""
    for turn in range(15):
        jobs = [created(here), created(here)]
        forwards = [_item(table, turn, place) for place in range(30)]
        orders = [forwards, forwards[::-1]]
        tries: list[UUID] = []
        works = [
            partial(_publish, publish, job, order, tries)
            for job, order in zip(jobs, orders, strict=True)
        ]
        assert race(works) == [None, None]
        assert set(tries) == {job.id for job in jobs}
        assert len(tries) == 2, "a deadlock"
        assert _count(table) == 30
        states = sql(f"SELECT state, published_id, content_hash FROM {table}_candidate")
        assert Counter(row["state"] for row in states) == {"published": 30, "duplicate": 30}
        assert len({(row["published_id"], row["content_hash"]) for row in states}) == 30
        sql(f"DELETE FROM ai_job; DELETE FROM {table}")


def test_a_publication_that_waits_for_the_same_content_points_to_its_rows(here: World) -> None:
    first, second = created(here), created(here)
    items = [_item("flashcard", 0, place) for place in range(3)]

    def publish(job: AiJob) -> None:
        publish_flashcards(job, _candidates(job, items))

    before, outcome = beaten(
        lambda: publish(first), lambda: db.transact("project", lambda: publish(second))
    )
    assert outcome is None
    assert sql("SELECT id FROM flashcard WHERE job_id = %(id)s", id=second.id) == []
    assert len(before["flashcard"]) == _count("flashcard") == 3
    pointed = sql(
        "SELECT state FROM flashcard_candidate c JOIN flashcard f ON f.id = c.published_id "
        "WHERE c.job_id = %(id)s AND f.job_id = %(first)s",
        id=second.id,
        first=first.id,
    )
    assert pointed == [{"state": "duplicate"}] * 3


def _item(table: str, turn: int, place: int) -> dict[str, Any]:
    # The hashes run against the order of the items: only a sorted insert is free of circles.
    text = f"{turn}.{place}"
    if table == "flashcard":
        return {"front": text, "back": "b", "content_hash": f"{(place * 7) % 30:02}-{turn}"}
    return {
        "question": text,
        "options": ["a", "b"],
        "answer_index": 0,
        "content_hash": f"{(place * 7) % 30:02}-{turn}",
    }


def _candidates(job: AiJob, items: list[dict[str, Any]]) -> list[Candidate]:
    return [
        Candidate(
            id=UUID(int=job.id.int ^ place),
            published_id=UUID(int=job.id.int ^ (place + 1000)),
            ordinal=place,
            content_hash=item["content_hash"],
            columns={name: value for name, value in item.items() if name != "content_hash"},
        )
        for place, item in enumerate(items)
    ]


def _publish(publish: Any, job: AiJob, items: list[dict[str, Any]], tries: list[UUID]) -> None:
    def work() -> None:
        tries.append(job.id)
        publish(job, _candidates(job, items))

    db.transact("project", work)


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
    assert {table: _count(table) for table in tables} == dict.fromkeys(tables, 1)


def test_the_sweep_does_not_send_again_what_a_relay_is_publishing(here: World) -> None:
    """The end of a job, long ago, whose event a relay marks published while the sweep looks."""
    job_id = job_in(here, "succeeded").job_id
    claim = outbox.claim_events("relay", 100)
    _age_ends()

    def publish() -> None:
        outbox.publish("relay", [event.id for event in claim])

    left, outcome = beaten(publish, _sweep_ends)
    assert outcome == 0
    assert whole_database() == left
    assert here.job(job_id).completed_at is None


def test_sweep_against_relay_sends_each_end_once_a_turn(here: World) -> None:
    for _ in range(20):
        job_in(here, "succeeded")
    outbox.publish("relay", [event.id for event in outbox.claim_events("relay", 100)])
    _age_ends()
    sql("UPDATE outbox_event SET published_at = now() - interval '1 h'")
    swept, sent = race([lambda: [_sweep_ends() for _ in range(5)], _relay_until_quiet])
    assert sum(swept) == 20
    ids = [event.id for event in [*sent, *outbox.claim_events("relay", 100)]]
    assert len(ids) == len(set(ids)) == 20


def test_two_sweeps_at_once_send_each_lost_hint_once(here: World) -> None:
    for _ in range(30):
        here.create()
    sql("UPDATE ai_job SET dispatched_at = now() - interval '1 day'")
    known = here.engine.registry.known()
    hints = partial(outbox.resend_hints, known, age_seconds=120, limit=100)
    swept = race([lambda: db.autocommit("sweep", hints)] * 4)
    assert sum(swept) == 30
    assert {row["dispatch_no"] for row in sql("SELECT dispatch_no FROM ai_job")} == {2}


def test_relays_side_by_side_claim_each_event_once(here: World) -> None:
    for _ in range(60):
        here.create()
    taken = race([partial(_claim_events, f"relay-{number}") for number in range(6)])
    ids = [event for events in taken for event in events]
    assert len(ids) == len(set(ids)) == 60


def _claim_events(relay: str) -> list[int]:
    taken: list[int] = []
    while ids := [event.id for event in outbox.claim_events(relay, 7)]:
        outbox.publish(relay, ids)
        taken += ids
    return taken


def _relay_until_quiet() -> list[outbox.Event]:
    sent = []
    for _ in range(50):
        events = outbox.claim_events("relay", 10)
        outbox.publish("relay", [event.id for event in events])
        sent += events
    return sent


def _age_ends() -> None:
    sql(
        "SET session_replication_role = replica;"
        "UPDATE ai_job SET finished_at = now() - interval '1 h'; RESET session_replication_role"
    )


def _sweep_ends() -> int:
    return db.autocommit("sweep", lambda: outbox.resend_ends(age_seconds=120, limit=100))


def test_of_two_completes_one_tells_the_user(here: World) -> None:
    job_id = job_in(here, "succeeded").job_id
    done = race([partial(stages.complete, job_id)] * 4)
    assert Counter(one is not None for one in done) == {True: 1, False: 3}
    assert _count("notification") == 1


def test_failed_parents_of_the_same_children_reject_each_child_once(here: World) -> None:
    """Two parents end at once; both completions lock the children."""
    for _ in range(10):
        parents = [job_in(here, "running") for _ in range(2)]
        after = tuple(parent.job_id for parent in parents)
        children = [created(here, after=after) for _ in range(5)]
        for parent in parents:
            db.transact("fail", partial(_end, parent))
        assert all(race([partial(stages.complete, parent) for parent in after]))
        for child in children:
            assert _edges(child.id) == ["create", "reject:dependency_failed"]
        sql("DELETE FROM ai_job")


def _end(lease: Lease) -> None:
    fail(lease, FAILURE, patient=hasty)


def test_a_heartbeat_passes_over_a_row_that_a_stage_is_writing(here: World) -> None:
    busy, free = running(here), running(here)
    with ThreadPoolExecutor(1) as pool:

        def work() -> Any:
            _succeed(busy)
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


def _edges(job_id: UUID) -> list[str]:
    found = sql("SELECT cause FROM job_transition WHERE job_id = %(id)s ORDER BY id", id=job_id)
    return [row["cause"] for row in found]


def _count(table: str) -> int:
    return int(sql(f"SELECT count(*) AS number FROM {table}")[0]["number"])
