"""Reading jobs: a user finds their own, newest first, and nothing of anybody else's."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from aijobs.models import database as db
from aijobs.models import jobs
from aijobs.models.jobs import JobFilter
from aijobs.models.paging import Place
from aijobs.models.tables import AiJob, Flashcard, QuizQuestion
from tests.integration.models.states import STATES, created, job_in, sql
from tests.world import World


def _page(wanted: JobFilter, after: Place | None = None, limit: int = 100) -> list[AiJob]:
    return db.read(lambda: jobs.page(wanted, after=after, limit=limit))


def _ids(found: list[Any]) -> list[UUID]:
    return [row.id for row in found]


def test_a_job_is_found_by_its_user_alone(here: World) -> None:
    job = here.create()
    assert db.read(lambda: jobs.get(job.id)) == job
    assert db.read(lambda: jobs.of_user(job.id, here.user_id)) == job
    assert db.read(lambda: jobs.of_user(job.id, uuid4())) is None
    assert db.read(lambda: jobs.of_user(uuid4(), here.user_id)) is None
    assert db.read(lambda: jobs.get(uuid4())) is None


def test_of_several_jobs_the_users_own_are_found(here: World) -> None:
    mine, theirs = here.create(), created(here, user_id=uuid4())
    wanted = [mine.id, theirs.id, uuid4()]
    assert _ids(db.read(lambda: jobs.of_user_all(wanted, here.user_id))) == [mine.id]
    assert jobs.of_user_all([], here.user_id) == []


def test_a_page_is_the_users_newest_first(here: World) -> None:
    made = [here.create().id for _ in range(3)]
    created(here, user_id=uuid4())
    assert _ids(_page(JobFilter(here.user_id))) == made[::-1]


@pytest.mark.parametrize("size", [1, 2, 3, 10])
def test_pages_join_without_gaps_though_jobs_are_made_meanwhile(here: World, size: int) -> None:
    made = [here.create().id for _ in range(7)]
    sql("UPDATE ai_job SET created_at = date_trunc('minute', created_at)")  # all at once
    seen: list[UUID] = []
    after: Place | None = None
    while found := _page(JobFilter(here.user_id), after, size):
        assert len(found) <= size
        seen += _ids(found)
        after = (found[-1].created_at, found[-1].id)
        here.create()
    assert seen == sorted(made, key=str, reverse=True)


@pytest.mark.parametrize(
    ("shown", "stored"),
    [
        ("queued", {"queued", "expired"}),
        ("running", {"locked", "running"}),
        ("succeeded", {"succeeded"}),
        ("failed", {"failed"}),
        ("cancelled", {"cancelled"}),
    ],
)
def test_jobs_are_listed_by_the_status_that_users_see(
    here: World, shown: str, stored: set[str]
) -> None:
    for state in sorted(STATES, key=lambda state: state == "queued"):  # the queued one last
        job_in(here, state)
    found = _page(JobFilter(here.user_id, status=shown))
    assert {job.lifecycle_status for job in found} == stored


def test_jobs_are_listed_by_type_and_target(here: World) -> None:
    quiz = here.create()
    cards = here.create("flashcard_generation")
    other = created(here, target_id=uuid4())
    assert _ids(_page(JobFilter(here.user_id, job_type="flashcard_generation"))) == [cards.id]
    by_target = _page(JobFilter(here.user_id, target_id=here.base_id))
    assert _ids(by_target) == [cards.id, quiz.id]
    both = JobFilter(here.user_id, job_type="quiz_generation", target_id=other.target_id)
    assert _ids(_page(both)) == [other.id]


def test_execution_time_runs_from_the_last_claim(here: World) -> None:
    job = here.create()
    assert not db.read(lambda: jobs.is_overtime(job.id))
    here.claim()
    limit = here.job(job.id).timeout_seconds
    for ago, is_up in ((limit - 5, False), (limit + 5, True)):
        sql("UPDATE ai_job SET started_at = now() - %(ago)s * interval '1 s'", ago=ago)
        assert db.read(lambda: jobs.is_overtime(job.id)) == is_up


def test_a_result_is_there_or_not(here: World) -> None:
    first, second = here.create(), here.create()
    here.run(here.claim())
    assert db.read(lambda: jobs.has_result(first.id))
    assert not db.read(lambda: jobs.has_result(second.id))


def test_the_history_is_in_order(here: World) -> None:
    job = here.finish(here.create())
    causes = [line.cause for line in db.read(lambda: jobs.history(job.id))]
    assert causes[:2] == ["create", "claim"]
    assert causes[-1] == "succeed"
    assert set(causes[2:-1]) == {"checkpoint"}


@pytest.mark.parametrize(
    ("job_type", "table"),
    [("quiz_generation", QuizQuestion), ("flashcard_generation", Flashcard)],
)
def test_what_was_published_is_shown_to_its_owner(
    here: World, job_type: str, table: type[QuizQuestion] | type[Flashcard]
) -> None:
    here.finish(here.create(job_type))

    def shown(user_id: UUID, base_id: UUID, after: Place | None = None) -> list[UUID]:
        return _ids(db.read(lambda: jobs.published(table, user_id, base_id, after=after, limit=2)))

    first = shown(here.user_id, here.base_id)
    assert len(first) == 2
    moment = sql(f"SELECT created_at FROM {table._meta.table_name}")[0]["created_at"]
    second = shown(here.user_id, here.base_id, (moment, first[-1]))
    assert len(second) == 2 and not set(first) & set(second)
    assert shown(uuid4(), here.base_id) == []
    assert shown(here.user_id, uuid4()) == []
