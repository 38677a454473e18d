"""What may be claimed now, in which order, and at what cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import psycopg2
import pytest

from aijobs.models import database as db
from aijobs.models.lifecycle import Lease, adopt, cancel, claim, succeed
from aijobs.models.lifecycle.claiming import claimable_params
from aijobs.models.sql import texts
from tests.integration.models.rivals import losing
from tests.integration.models.states import (
    QUEUE,
    STATES,
    claimed,
    created,
    expire_now,
    job_in,
    running,
    sql,
)
from tests.world import World

KNOWN = [("flashcard_generation", 1), ("quiz_generation", 1)]


def _claim(here: World, queue: str = QUEUE, known: Any = KNOWN) -> UUID | None:
    job = claim(queue, known=known, holder=here.engine.holder, lease_seconds=60)
    return None if job is None else job.id


def _parent_state(here: World, status: str) -> UUID:
    return job_in(here, status).job_id


def test_a_new_job_is_claimable(here: World) -> None:
    job = here.create()
    assert _claim(here) == job.id
    assert _claim(here) is None


def test_a_claim_is_a_lease_from_now_on(here: World) -> None:
    here.create()
    claim(QUEUE, known=KNOWN, holder="host:1:x", lease_seconds=45)
    assert sql(
        "SELECT locked_by, attempt_no, stage, progress, started_at = locked_at AS started, "
        "extract(epoch FROM lock_until - locked_at)::float AS seconds FROM ai_job"
    ) == [
        {
            "locked_by": "host:1:x",
            "attempt_no": 1,
            "stage": "PREPARE",
            "progress": 10,
            "started": True,
            "seconds": 45.0,
        }
    ]


#: Each condition alone: what makes a job that is claimable otherwise wait.
CONDITIONS = {
    "a due time to come": "available_at = now() + interval '1 min'",
    "another lane": "lane = 'runtime'",
    "another queue": "queue_name = 'ai-background'",
    "a type that nobody here knows": "job_type = 'essay_generation'",
    "a version to come": "definition_version = 2",
}


@pytest.mark.parametrize("change", CONDITIONS)
def test_one_condition_is_enough_to_wait(here: World, change: str) -> None:
    job = here.create()
    before = sql("SELECT * FROM ai_job")[0]
    sql(f"UPDATE ai_job SET {CONDITIONS[change]}")
    assert _claim(here) is None
    column = CONDITIONS[change].split(" = ")[0]
    sql(f"UPDATE ai_job SET {column} = %(value)s", value=before[column])
    assert _claim(here) == job.id


@pytest.mark.parametrize("status", sorted(set(STATES) - {"queued"}))
def test_only_queued_jobs_are_claimed(here: World, status: str) -> None:
    job_in(here, status)
    assert _claim(here) is None


def test_a_cancel_request_closes_the_claim_even_where_no_check_forbids_it(here: World) -> None:
    """The CHECK keeps such rows out; the predicate does not rely on it."""
    job = here.create()
    rule = "ai_job_queued_uncancelled"
    sql(f"ALTER TABLE ai_job DROP CONSTRAINT {rule}")
    try:
        sql("UPDATE ai_job SET cancel_requested_at = now()")
        assert _claim(here) is None
        sql("UPDATE ai_job SET cancel_requested_at = NULL")
        assert _claim(here) == job.id
    finally:
        sql(
            f"ALTER TABLE ai_job ADD CONSTRAINT {rule} "
            "CHECK (lifecycle_status <> 'queued' OR cancel_requested_at IS NULL)"
        )


def test_a_paused_queue_gives_nothing_and_loses_nothing(here: World) -> None:
    job, card = here.create(), created(here, queue_name="ai-background")
    sql("INSERT INTO queue_control VALUES (%(queue)s, now(), 'admin')", queue=QUEUE)
    assert _claim(here) is None
    assert _claim(here, "ai-background") == card.id
    sql("UPDATE queue_control SET paused_at = NULL")
    assert _claim(here) == job.id


def test_an_older_version_is_done_by_a_newer_executor(here: World) -> None:
    job = here.create()
    assert _claim(here, known=[("quiz_generation", 3)]) == job.id


def test_who_knows_nothing_claims_nothing(here: World) -> None:
    here.create()
    assert _claim(here, known=[]) is None


@pytest.mark.parametrize("status", STATES)
def test_a_job_waits_until_its_parent_has_succeeded(here: World, status: str) -> None:
    parent = _parent_state(here, status)
    child = created(here, after=(parent,), queue_name="ai-background")
    expected = child.id if status == "succeeded" else None
    assert _claim(here, "ai-background") == expected


def test_a_job_waits_for_the_last_of_its_parents(here: World) -> None:
    parents = [running(here), running(here)]
    child = created(here, after=tuple(lease.job_id for lease in parents))
    for lease in parents:
        assert _claim(here) is None
        succeed(lease, output_hash="0" * 64)
    assert _claim(here) == child.id


# The order: a step of priority is a head start of 60 s.


def _aged(here: World, priority: int, seconds: float) -> UUID:
    """A job that has been due for `seconds`."""
    job = created(here, priority=priority)
    sql(
        "UPDATE ai_job SET available_at = date_trunc('hour', now()) - interval '1 h' "
        "- %(seconds)s * interval '1 s' WHERE id = %(id)s",
        id=job.id,
        seconds=seconds,
    )
    return job.id


def _order(here: World, count: int) -> list[UUID | None]:
    return [_claim(here) for _ in range(count)]


def test_among_equals_in_priority_the_older_comes_first(here: World) -> None:
    young, old = _aged(here, 50, 10), _aged(here, 50, 20)
    assert _order(here, 2) == [old, young]


def test_a_step_of_priority_is_worth_sixty_seconds(here: World) -> None:
    urgent, waited_59, waited_61 = _aged(here, 10, 0), _aged(here, 11, 59), _aged(here, 11, 61)
    assert _order(here, 3) == [waited_61, urgent, waited_59]


def test_the_last_priority_overtakes_the_first_after_a_hundred_minutes(here: World) -> None:
    urgent, patient = _aged(here, 0, 0), _aged(here, 100, 6001)
    assert _order(here, 2) == [patient, urgent]


def test_among_equals_in_rank_the_higher_priority_comes_first(here: World) -> None:
    lower, higher = _aged(here, 11, 60), _aged(here, 10, 0)
    assert sql("SELECT count(DISTINCT rank_at) AS ranks FROM ai_job") == [{"ranks": 1}]
    assert _order(here, 2) == [higher, lower]


def test_among_equals_in_rank_and_priority_the_older_comes_first(here: World) -> None:
    later, earlier = _aged(here, 10, 0), _aged(here, 10, 0)
    sql("UPDATE ai_job SET created_at = created_at - interval '1 h' WHERE id = %(i)s", i=earlier)
    assert _order(here, 2) == [earlier, later]


def test_what_is_not_claimable_does_not_stand_in_the_way(here: World) -> None:
    blocked, free = _aged(here, 0, 9999), _aged(here, 100, 0)
    sql("UPDATE ai_job SET job_type = 'essay_generation' WHERE id = %(id)s", id=blocked)
    assert _order(here, 2) == [free, None]


# A claim whose answer was lost.


def test_a_claim_that_nobody_heard_of_is_adopted(here: World) -> None:
    lease = running(here)
    found = adopt(here.engine.holder, [])
    assert found is not None and (found.id, found.attempt_no) == (lease.job_id, 1)
    assert adopt(here.engine.holder, [lease.job_id]) is None
    assert adopt("somebody:2:else", []) is None


def _claim_losing(here: World, point: str, entered: list[UUID] | None) -> UUID | None:
    """Claim while the connection is lost once, at this point."""
    losing(point)
    holder = here.engine.holder
    job = claim(QUEUE, known=KNOWN, holder=holder, lease_seconds=60, entered=entered)
    return None if job is None else job.id


def test_a_claim_whose_answer_is_lost_is_not_made_twice(here: World) -> None:
    heard = running(here)
    first, second = here.create(), here.create()
    assert _claim_losing(here, "claim.after_commit", [heard.job_id]) == first.id
    assert here.job(first.id).attempt_no == 1
    assert here.job(second.id).lifecycle_status == "queued"


def test_a_claim_that_did_not_commit_is_made_again(here: World) -> None:
    heard = running(here)
    first = here.create()
    assert _claim_losing(here, "claim.before_commit", [heard.job_id]) == first.id
    assert here.job(first.id).attempt_no == 1


def test_nothing_is_adopted_that_is_not_running(here: World) -> None:
    lease = running(here)
    expire_now(here, lease.job_id)
    cancel(lease.job_id, reason="user", actor="user:1")
    assert adopt(here.engine.holder, []) is None


# Its costs: a claim beside many finished jobs.


@pytest.fixture
def crowded(here: World) -> World:
    """20 000 finished jobs of the same queue, and 2 000 that wait."""
    here.create()
    columns = ", ".join(
        row["name"]
        for row in sql(
            "SELECT attname AS name FROM pg_attribute WHERE attrelid = 'ai_job'::regclass "
            "AND attnum > 0 AND NOT attisdropped AND attgenerated = '' AND attname NOT IN "
            "('id', 'lifecycle_status', 'finished_at', 'error_code', 'rank_at')"
        )
    )
    copies = (
        "INSERT INTO ai_job (id, lifecycle_status, finished_at, error_code, rank_at, "
        f"{columns}) SELECT gen_random_uuid(), %(status)s, %(ended)s::timestamptz, 'X', "
        f"now() - number * interval '1 s', {columns} "
        "FROM ai_job, generate_series(1, %(count)s) AS number WHERE id = %(id)s"
    )
    origin = sql("SELECT id FROM ai_job")[0]["id"]

    def fill() -> None:
        db.rows("SET LOCAL session_replication_role = replica")
        for status, ended, count in (
            ("succeeded", "2026-01-01", 10_000),
            ("failed", "2026-01-01", 10_000),
            ("queued", None, 2_000),
        ):
            db.rows(copies, {"status": status, "ended": ended, "count": count, "id": origin})

    db.transact("create", fill)
    sql("ANALYZE ai_job")
    return here


def test_a_claim_reads_a_few_rows_of_the_partial_index_beside_any_number_of_jobs(
    crowded: World,
) -> None:
    params = claimable_params("engine", KNOWN) | {
        "queue_name": QUEUE,
        "holder": "explain",
        "lease_seconds": 60,
    }
    explained = sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {texts.text('claim')}", **params)
    nodes = list(_nodes(explained[0]["QUERY PLAN"][0]["Plan"]))
    scans = [node for node in nodes if node.get("Relation Name") == "ai_job"]
    picks = next(node for node in scans if node["Alias"] == "job")
    assert picks["Index Name"] == "ai_job_queued"
    read = picks["Actual Rows"] + picks.get("Rows Removed by Filter", 0)
    assert 0 < read <= 100
    assert not [node for node in scans if node["Node Type"] == "Seq Scan"]


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _nodes(child)


def test_the_claim_of_a_lease_names_its_fence(here: World) -> None:
    job = here.create()
    lease = claimed(here)
    assert lease == Lease(job.id, 1, here.engine.holder)


def test_a_claim_that_lost_its_candidate_looks_again(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its permit may be the only one that is left for a job that came during its first look."""
    job = here.create()
    other = psycopg2.connect(here.engine.settings.database_url)
    other.cursor().execute("SELECT 1 FROM ai_job WHERE id = %s FOR NO KEY UPDATE", (str(job.id),))
    read = db.read

    def read_when_free(*args: Any, **named: Any) -> Any:
        other.rollback()
        return read(*args, **named)

    monkeypatch.setattr(db, "read", read_when_free)
    assert _claim(here) == job.id
    other.close()


def test_a_claim_gives_up_on_a_job_that_stays_locked(here: World) -> None:
    job = here.create()
    other = psycopg2.connect(here.engine.settings.database_url)
    other.cursor().execute("SELECT 1 FROM ai_job WHERE id = %s FOR NO KEY UPDATE", (str(job.id),))
    assert _claim(here) is None
    other.close()
    assert _claim(here) == job.id
