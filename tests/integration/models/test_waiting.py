"""Why a job waits, as its user is told: the first reason that holds, and since when."""

from __future__ import annotations

import datetime as dt
from typing import Any
from uuid import UUID

import pytest

from aijobs.models import database as db
from aijobs.models import jobs
from aijobs.models.jobs import Waiting
from tests.integration.models.states import (
    QUEUE,
    STATES,
    claimed,
    created,
    job_in,
    running,
    sql,
)
from tests.world import World

KNOWN = [("flashcard_generation", 1), ("quiz_generation", 1)]


def _waiting(here: World, job_id: UUID, known: Any = KNOWN) -> Waiting | None:
    job = here.job(job_id)
    return db.read(lambda: jobs.waiting_for(job, known))


def test_a_job_that_could_be_claimed_waits_for_a_worker(here: World) -> None:
    job = here.create()
    waiting = _waiting(here, job.id)
    assert waiting is not None
    assert (waiting.reason, waiting.since) == ("queue", here.job(job.id).available_at)
    assert (waiting.queue_name, waiting.is_claimable) == (QUEUE, True)


def test_a_job_that_is_not_due_waits_for_its_time(here: World) -> None:
    job = here.create()
    sql("UPDATE ai_job SET available_at = '2100-01-02T03:04:05Z'")
    waiting = _waiting(here, job.id)
    assert waiting is not None
    due_at = dt.datetime(2100, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
    assert (waiting.reason, waiting.due_at) == ("due_time", due_at)


def test_a_job_of_a_paused_queue_says_since_when(here: World) -> None:
    job = here.create()
    sql("INSERT INTO queue_control VALUES (%(q)s, now() + interval '1 h', 'admin')", q=QUEUE)
    waiting = _waiting(here, job.id)
    paused = sql("SELECT paused_at FROM queue_control")[0]["paused_at"]
    assert waiting is not None
    assert (waiting.reason, waiting.since) == ("queue_paused", paused)
    assert waiting.queue_name == QUEUE


def test_a_job_with_open_parents_says_how_many(here: World) -> None:
    parents = (running(here).job_id, running(here).job_id)
    job = created(here, after=parents)
    waiting = _waiting(here, job.id)
    assert waiting is not None
    assert (waiting.reason, waiting.since) == ("dependencies", job.created_at)
    assert waiting.open_parents == 2


def test_the_first_reason_that_holds_is_the_one_that_is_told(here: World) -> None:
    job = created(here, after=(running(here).job_id,))
    sql("INSERT INTO queue_control VALUES (%(q)s, now(), 'admin')", q=QUEUE)
    sql("UPDATE ai_job SET available_at = '2100-01-01' WHERE id = %(id)s", id=job.id)
    reasons = []
    for end in (
        "DELETE FROM ai_job_dependency",
        "DELETE FROM queue_control",
        "UPDATE ai_job SET available_at = now() WHERE lifecycle_status = 'queued'",
    ):
        waiting = _waiting(here, job.id)
        assert waiting is not None
        reasons.append(waiting.reason)
        sql(end)
    assert reasons == ["dependencies", "queue_paused", "due_time"]
    lease = claimed(here)
    assert lease is not None and lease.job_id == job.id


def test_a_job_of_a_later_version_waits_for_a_worker_that_knows_it(here: World) -> None:
    job = here.create()
    sql("UPDATE ai_job SET definition_version = 9")
    waiting = _waiting(here, job.id)
    assert waiting is not None
    assert (waiting.reason, waiting.is_claimable) == ("queue", False)


def test_an_expired_job_is_about_to_be_decided(here: World) -> None:
    waiting = _waiting(here, job_in(here, "expired").job_id)
    assert waiting is not None and (waiting.reason, waiting.due_at) == ("due_time", None)


@pytest.mark.parametrize("status", sorted(set(STATES) - {"queued", "expired"}))
def test_a_job_that_does_not_wait_has_no_reason(here: World, status: str) -> None:
    assert _waiting(here, job_in(here, status).job_id) is None


def test_a_job_that_moved_on_meanwhile_has_no_reason(here: World) -> None:
    job = here.create()
    sql("DELETE FROM ai_job")
    assert db.read(lambda: jobs.waiting_for(job, KNOWN)) is None
