"""Races of projections, publications, ends and hints: each lands once, and nobody deadlocks."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from aijobs.engine import stages
from aijobs.models import database as db
from aijobs.models import outbox
from aijobs.models.lifecycle import (
    Lease,
    fail,
)
from aijobs.models.publication import Candidate, publish_flashcards, publish_questions
from aijobs.models.tables import AiJob
from tests.integration.models.acts import count_of, edges_of
from tests.integration.models.rivals import beaten, race
from tests.integration.models.states import (
    FAILURE,
    created,
    hasty,
    job_in,
    sql,
)
from tests.world import World, whole_database

ROUNDS = 200


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
        assert count_of(table) == made, table
    assert edges_of(job.id).count("succeed") == 1


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
        assert count_of(table) == 30
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
    assert len(before["flashcard"]) == count_of("flashcard") == 3
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
    assert count_of("notification") == 1


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
            assert edges_of(child.id) == ["create", "reject:dependency_failed"]
        sql("DELETE FROM ai_job")


def _end(lease: Lease) -> None:
    fail(lease, FAILURE, patient=hasty)
