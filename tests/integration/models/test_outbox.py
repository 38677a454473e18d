"""The outbox: claims in order, publishing by its holder alone, faults, outages, lost hints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from aijobs.models import database as db
from aijobs.models import outbox
from aijobs.models.lifecycle import hand_back
from tests.integration.models.edges import nothing_changes
from tests.integration.models.rivals import losing
from tests.integration.models.states import (
    STATES,
    TERMINAL,
    claimed,
    created,
    hasty,
    job_in,
    running,
    sql,
)
from tests.world import World

KNOWN = [("quiz_generation", 1)]


def _statuses() -> list[str]:
    return [row["status"] for row in sql("SELECT status FROM outbox_event ORDER BY id")]


def _event(here: World) -> outbox.Event:
    """The claimed event of a new job."""
    here.create()
    (event,) = outbox.claim_events("mine", 10)
    return event


def _age(table: str, column: str, seconds: float) -> None:
    sql(f"UPDATE {table} SET {column} = now() - %(s)s * interval '1 s'", s=seconds)


# Claims.


def test_an_event_tells_what_its_message_needs(here: World) -> None:
    job = here.create(priority=70)
    (event,) = outbox.claim_events("mine", 10)
    assert (event.event_type, event.job_id, event.attempt_count) == ("ai.job.enqueue", job.id, 0)
    assert event.payload == {
        "jobId": str(job.id),
        "jobType": "quiz_generation",
        "queueName": "ai-interactive",
        "priority": 70,
    }


def test_a_claimed_event_is_nobody_elses(here: World) -> None:
    _event(here)
    assert outbox.claim_events("other", 10) == []
    assert sql("SELECT status, locked_by, locked_at IS NOT NULL AS dated FROM outbox_event") == [
        {"status": "processing", "locked_by": "mine", "dated": True}
    ]


def test_events_are_claimed_by_rank_not_by_id(here: World) -> None:
    jobs = [created(here, priority=priority) for priority in (60, 20, 40)]
    claimed_jobs = [event.job_id for event in outbox.claim_events("mine", 10)]
    assert claimed_jobs == [jobs[1].id, jobs[2].id, jobs[0].id]


def test_a_batch_has_a_limit_and_takes_the_best(here: World) -> None:
    jobs = [created(here, priority=priority) for priority in (60, 20, 40)]
    first = [event.job_id for event in outbox.claim_events("mine", 2)]
    rest = [event.job_id for event in outbox.claim_events("other", 2)]
    assert (first, rest) == ([jobs[1].id, jobs[2].id], [jobs[0].id])


def test_an_event_that_is_not_due_waits(here: World) -> None:
    lease = running(here)
    hand_back(lease, cause="circuit", delay_seconds=60, patient=hasty)
    first = outbox.claim_events("mine", 10)
    assert [event.job_id for event in first] == [lease.job_id]  # of its creation
    assert outbox.claim_events("other", 10) == []
    sql("UPDATE outbox_event SET available_at = now() WHERE status = 'pending'")
    assert len(outbox.claim_events("other", 10)) == 1


def test_a_claim_whose_answer_is_lost_is_taken_up(here: World) -> None:
    jobs = [created(here, priority=priority) for priority in (60, 20, 40)]
    losing("relay_claim.after_commit")
    found = [event.job_id for event in outbox.claim_events("mine", 2)]
    assert found == [jobs[1].id, jobs[2].id]
    assert _statuses() == ["pending", "processing", "processing"]


def test_a_claim_that_did_not_commit_is_made_again(here: World) -> None:
    job = here.create()
    losing("relay_claim.before_commit")
    assert [event.job_id for event in outbox.claim_events("mine", 2)] == [job.id]


# Publishing.


def test_a_published_event_is_done(here: World) -> None:
    event = _event(here)
    outbox.publish("mine", [event.id])
    assert sql("SELECT status, locked_by, locked_at FROM outbox_event") == [
        {"status": "published", "locked_by": None, "locked_at": None}
    ]
    assert sql("SELECT published_at IS NOT NULL AS dated FROM outbox_event") == [{"dated": True}]
    assert outbox.claim_events("mine", 10) == []


#: What a relay does that has lost its lock.
LATE: dict[str, Callable[[outbox.Event], Any]] = {
    "publish": lambda event: outbox.publish("mine", [event.id]),
    "return": lambda event: outbox.return_events("mine", [event.id], error="gone"),
    "count a fault": lambda event: outbox.count_fault("mine", event.id, error="bad"),
}


@pytest.mark.parametrize("late", LATE)
def test_a_relay_that_lost_its_lock_changes_nothing(here: World, late: str) -> None:
    event = _event(here)
    _age("outbox_event", "locked_at", 61)
    assert db.autocommit("relay_release", lambda: outbox.release_stale(60)) == 1
    with nothing_changes():
        assert not LATE[late](event)
    assert [again.id for again in outbox.claim_events("other", 10)] == [event.id]
    with nothing_changes():
        assert not LATE[late](event)


def test_a_published_event_is_not_taken_back(here: World) -> None:
    event = _event(here)
    outbox.publish("mine", [event.id])
    with nothing_changes():
        LATE["return"](event)
        assert LATE["count a fault"](event) is False


def test_only_old_locks_are_released(here: World) -> None:
    _event(here)
    _age("outbox_event", "locked_at", 59)
    with nothing_changes():
        assert db.autocommit("relay_release", lambda: outbox.release_stale(60)) == 0
    _age("outbox_event", "locked_at", 61)
    assert db.autocommit("relay_release", lambda: outbox.release_stale(60)) == 1
    assert sql("SELECT status, locked_by, locked_at, attempt_count FROM outbox_event") == [
        {"status": "pending", "locked_by": None, "locked_at": None, "attempt_count": 0}
    ]


# Faults and outages.


def test_an_outage_of_the_broker_counts_against_no_event(here: World) -> None:
    for _ in range(10):
        event = _event(here) if _statuses() == [] else outbox.claim_events("mine", 1)[0]
        outbox.return_events("mine", [event.id], error="ConnectionError: refused" * 100)
    row = sql("SELECT status, locked_by, attempt_count, last_error FROM outbox_event")[0]
    assert (row["status"], row["locked_by"], row["attempt_count"]) == ("pending", None, 0)
    assert len(row["last_error"]) == 500


def test_the_third_fault_of_an_event_is_its_death(here: World) -> None:
    here.create()
    dead = []
    for _ in range(3):
        (event,) = outbox.claim_events("mine", 1)
        dead.append(outbox.count_fault("mine", event.id, error="KeyError: 'queueName'"))
    assert dead == [False, False, True]
    assert outbox.claim_events("mine", 10) == []
    row = sql("SELECT status, attempt_count, last_error FROM outbox_event")[0]
    assert row == {"status": "dead", "attempt_count": 3, "last_error": "KeyError: 'queueName'"}


def test_a_dead_event_blocks_nobody(here: World) -> None:
    here.create()
    sql("UPDATE outbox_event SET status = 'dead'")
    other = here.create()
    assert [event.job_id for event in outbox.claim_events("mine", 10)] == [other.id]


# Lost hints.


def _resend(here: World, limit: int = 100) -> int:
    return db.autocommit("sweep", lambda: outbox.resend_hints(KNOWN, age_seconds=120, limit=limit))


def _hinted(seconds: float) -> None:
    _age("ai_job", "dispatched_at", seconds)


def test_a_lost_hint_is_sent_again_under_its_own_key(here: World) -> None:
    job = here.create()
    outbox.publish("mine", [event.id for event in outbox.claim_events("mine", 10)])
    _hinted(3600)
    assert _resend(here) == 1
    keys = [row["dedupe_key"] for row in sql("SELECT dedupe_key FROM outbox_event ORDER BY id")]
    assert keys == [f"enqueue:{job.id}:1", f"enqueue:{job.id}:2"]
    assert sql("SELECT dispatch_no, attempt_no FROM ai_job") == [
        {"dispatch_no": 2, "attempt_no": 0}
    ]
    assert _resend(here) == 0


def test_a_young_hint_is_given_time(here: World) -> None:
    here.create()
    _hinted(239)
    with nothing_changes():
        assert _resend(here) == 0


@pytest.mark.parametrize(
    ("hints", "minutes"), [(1, 4), (2, 8), (3, 16), (4, 32), (5, 64), (6, 64), (40, 64)]
)
def test_the_age_of_two_minutes_doubles_with_each_hint_five_times(
    here: World, hints: int, minutes: int
) -> None:
    here.create()
    sql("UPDATE ai_job SET dispatch_no = %(hints)s", hints=hints)
    _hinted(minutes * 60 - 1)
    assert _resend(here) == 0
    _hinted(minutes * 60 + 1)
    assert _resend(here) == 1


@pytest.mark.parametrize("status", sorted(set(STATES) - {"queued"}))
def test_no_hint_is_sent_for_a_job_that_does_not_wait(here: World, status: str) -> None:
    job_in(here, status)
    if status not in TERMINAL:
        _hinted(86400)
    with nothing_changes():
        assert _resend(here) == 0


@pytest.mark.parametrize(
    "change",
    [
        "lane = 'runtime'",
        "available_at = now() + interval '1 min'",
        "job_type = 'essay_generation'",
        "definition_version = 2",
    ],
)
def test_no_hint_is_sent_for_a_job_that_nobody_here_could_claim(here: World, change: str) -> None:
    here.create()
    _hinted(86400)
    sql(f"UPDATE ai_job SET {change}")
    with nothing_changes():
        assert _resend(here) == 0


def test_no_hint_is_sent_for_a_job_that_waits_for_another(here: World) -> None:
    created(here, after=(running(here).job_id,))
    sql("UPDATE ai_job SET dispatched_at = now() - interval '1 day'")
    assert _resend(here) == 0


def test_lost_hints_are_sent_best_rank_first_in_batches(here: World) -> None:
    jobs = [created(here, priority=priority) for priority in (60, 20, 40)]
    _hinted(3600)
    assert _resend(here, limit=2) == 2
    sent = sql("SELECT id FROM ai_job WHERE dispatch_no = 2")
    assert {row["id"] for row in sent} == {jobs[1].id, jobs[2].id}
    assert _resend(here, limit=2) == 1


def test_a_job_that_is_being_claimed_is_passed_over(here: World) -> None:
    here.create()
    _hinted(3600)

    def work() -> Any:
        assert claimed(here) is not None
        with db.reserved_connection():
            return _resend(here)

    assert db.transact("claim", work) == 0


# Lost ends.


def _end_long_ago(here: World, status: str) -> UUID:
    job_id = job_in(here, status).job_id
    sql(
        "SET session_replication_role = replica;"
        "UPDATE ai_job SET finished_at = now() - interval '1 h'; RESET session_replication_role"
    )
    return job_id


def _resend_ends() -> int:
    return db.autocommit("sweep", lambda: outbox.resend_ends(age_seconds=120, limit=100))


@pytest.mark.parametrize(
    ("status", "event_type"),
    [
        ("succeeded", "ai.job.completed"),
        ("failed", "ai.job.failed"),
        ("cancelled", "ai.job.cancelled"),
    ],
)
def test_an_end_whose_event_is_gone_is_told_again(
    here: World, status: str, event_type: str
) -> None:
    job_id = _end_long_ago(here, status)
    written = sql("SELECT * FROM outbox_event WHERE event_type = %(t)s", t=event_type)[0]
    sql("DELETE FROM outbox_event")
    assert _resend_ends() == 1
    again = sql("SELECT * FROM outbox_event")[0]
    for column in ("event_type", "aggregate_type", "aggregate_id", "dedupe_key", "payload"):
        assert again[column] == written[column], column
    assert (again["status"], again["aggregate_id"]) == ("pending", job_id)
    assert _resend_ends() == 0


def test_an_end_that_was_published_and_lost_is_told_again_once_a_turn(here: World) -> None:
    _end_long_ago(here, "succeeded")
    outbox.publish("mine", [event.id for event in outbox.claim_events("mine", 10)])
    with nothing_changes():
        assert _resend_ends() == 0  # published a moment ago
    _age("outbox_event", "published_at", 121)
    assert _resend_ends() == 1
    assert sorted(_statuses()) == ["pending", "published"]
    with nothing_changes():
        assert _resend_ends() == 0


@pytest.mark.parametrize("status", ["pending", "processing", "dead"])
def test_an_end_that_is_still_to_be_told_is_left_alone(here: World, status: str) -> None:
    _end_long_ago(here, "succeeded")
    sql("UPDATE outbox_event SET status = %(status)s", status=status)
    with nothing_changes():
        assert _resend_ends() == 0


def test_an_end_that_is_completed_or_young_is_not_told_again(here: World) -> None:
    job_in(here, "succeeded")
    sql("DELETE FROM outbox_event")
    with nothing_changes():
        assert _resend_ends() == 0
    sql("UPDATE ai_job SET completed_at = now()")
    sql(
        "SET session_replication_role = replica;"
        "UPDATE ai_job SET finished_at = now() - interval '1 h'; RESET session_replication_role"
    )
    with nothing_changes():
        assert _resend_ends() == 0
