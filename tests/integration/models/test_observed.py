"""What an operator is told of the database, and that telling it reads no history."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from aijobs.models.lifecycle import request_cancel
from aijobs.models.observed import Observed, ObservedDay, ObservedJobs, observe
from tests.integration.models.states import QUEUE, STATES, TERMINAL, job_in, running, sql
from tests.world import World

MISSED_SECONDS = 90
HISTORY = 20_000
#: What a look may touch when nothing is under way: 20 000 jobs are over 1 000 pages.
MOST_PAGES = 100

# As raw rows: a transition each would take minutes.
_MAKE_HISTORY = """
SET session_replication_role = replica;
INSERT INTO ai_job (id, user_id, job_type, definition_version, target_type, target_id, queue_name,
    priority, lifecycle_status, request_hash, credential_mode, prompt_version,
    input_schema_version, output_schema_version, max_retry_count, timeout_seconds, finished_at,
    completed_at, error_code)
SELECT gen_random_uuid(), gen_random_uuid(), 'quiz_generation', 1, 'knowledge_base',
    gen_random_uuid(), 'ai-interactive', 50, status, 'h', 'platform_key', 'v1', '1', '1', 3, 120,
    now(), now(), CASE status WHEN 'failed' THEN 'JOB_TIMEOUT' END
FROM generate_series(1, %(each)s), unnest(%(ended)s) status;
INSERT INTO outbox_event (event_type, aggregate_id, dedupe_key, payload, status, published_at)
SELECT 'ai.job.completed', id, id::text, '{}', 'published', now() FROM ai_job;
INSERT INTO ai_job_dependency SELECT job.id, parent.id FROM
    (SELECT id, row_number() OVER () AS n FROM ai_job) job
    JOIN (SELECT id, row_number() OVER () AS n FROM ai_job) parent ON parent.n = job.n + 1;
INSERT INTO platform_usage_daily (utc_date)
SELECT (now() AT TIME ZONE 'UTC')::date - n FROM generate_series(0, 3000) n ON CONFLICT DO NOTHING;
RESET session_replication_role
"""


def _observe() -> Observed:
    return observe(MISSED_SECONDS)


def _jobs(status: str) -> ObservedJobs | None:
    found = [jobs for jobs in _observe().jobs if jobs.status == status]
    assert len(found) <= 1
    return found[0] if found else None


def test_of_an_empty_system_there_is_nothing_to_tell(here: World) -> None:
    found = _observe()
    assert (found.circuits, found.jobs, found.passes) == ([], [], {})
    assert {events.status: events.count for events in found.events} == {
        "pending": 0,
        "processing": 0,
        "dead": 0,
    }
    assert found.day == ObservedDay()


@pytest.mark.parametrize("status", STATES)
def test_a_job_is_told_in_its_state_until_it_ends(here: World, status: str) -> None:
    job_in(here, status)
    told = [(jobs.queue_name, jobs.status, jobs.count) for jobs in _observe().jobs]
    assert told == ([] if status in TERMINAL else [(QUEUE, status, 1)])


@pytest.mark.parametrize(("seconds_ago", "missed"), [(0, 0), (MISSED_SECONDS - 5, 0), (95, 1)])
def test_a_lease_is_missed_when_it_has_lapsed_for_that_long(
    here: World, seconds_ago: int, missed: int
) -> None:
    lease = running(here)
    here.lapse(lease.job_id, 60 + seconds_ago)  # it had 60 s to go
    told = _jobs("running")
    assert told is not None and told.missed == missed


def test_a_cancel_that_waits_for_its_holder_is_told(here: World) -> None:
    lease = running(here)
    assert [jobs.cancelling for jobs in _observe().jobs] == [0]
    request_cancel(lease.job_id, reason="user")
    assert [jobs.cancelling for jobs in _observe().jobs] == [1]


def _due_since(here: World, seconds: float) -> Any:
    job = here.create()
    moved = "available_at = now() - %(seconds)s * interval '1 s'"
    sql(f"UPDATE ai_job SET {moved} WHERE id = %(id)s", id=job.id, seconds=seconds)
    return job.id


def test_the_longest_wait_is_that_of_the_job_that_is_due_longest(here: World) -> None:
    _due_since(here, 100)
    _due_since(here, 500)
    _due_since(here, -3600)
    told = _jobs("queued")
    assert told is not None and told.count == 3
    assert told.oldest_seconds is not None and 500 <= told.oldest_seconds < 560


def test_each_queue_has_its_own_longest_wait_behind_jobs_that_wait_for_parents(
    here: World,
) -> None:
    child, parent = _due_since(here, 900), _due_since(here, 300)
    sql("INSERT INTO ai_job_dependency VALUES (%(job)s, %(parent)s)", job=child, parent=parent)
    other = _due_since(here, 100)
    sql("UPDATE ai_job SET queue_name = 'ai-background' WHERE id = %(id)s", id=other)
    told = {jobs.queue_name: jobs.oldest_seconds or 0 for jobs in _observe().jobs}
    assert set(told) == {QUEUE, "ai-background"}
    assert 300 <= told[QUEUE] < 360
    assert 100 <= told["ai-background"] < 160


def test_a_job_that_is_not_due_or_waits_for_its_parent_does_not_make_its_queue_old(
    here: World,
) -> None:
    child, parent = _due_since(here, 500), _due_since(here, -3600)
    sql("INSERT INTO ai_job_dependency VALUES (%(job)s, %(parent)s)", job=child, parent=parent)
    told = _jobs("queued")
    assert told is not None
    assert (told.count, told.oldest_seconds) == (2, None)


def test_events_are_told_until_they_are_published(here: World) -> None:
    here.create()
    sql("UPDATE outbox_event SET available_at = now() - interval '70 s'")
    for status, age in (("pending", 70), ("processing", 70), ("dead", None), ("published", None)):
        sql("UPDATE outbox_event SET status = %(status)s", status=status)
        told = {events.status: events for events in _observe().events}
        counts = {name: events.count for name, events in told.items()}
        assert counts == {name: int(name == status) for name in ("pending", "processing", "dead")}
        ages = [events.oldest_seconds for events in told.values() if events.count]
        assert [seconds is not None for seconds in ages] == [age is not None] * len(ages)
        assert all(70 <= seconds < 130 for seconds in ages if seconds is not None)


def test_the_day_told_is_todays_in_utc(here: World) -> None:
    sql("DELETE FROM platform_usage_daily")
    sql(
        "INSERT INTO platform_usage_daily (utc_date, tokens_used, tokens_reserved, tokens_overrun, "
        "cost_used, cost_reserved, cost_overrun) "
        "SELECT (now() AT TIME ZONE 'UTC')::date - n, 60 + n, 20, 3, 5000, 700, 11 "
        "FROM generate_series(0, 1) n"
    )
    assert _observe().day == ObservedDay(60, 20, 3, 5000, 700, 11)


def test_a_pass_is_told_when_it_has_succeeded_and_its_waiting_is_not(here: World) -> None:
    sql(
        "INSERT INTO maintenance_pass (name, last_started_at, last_succeeded_at) VALUES "
        "('reaper', now(), '2026-03-01T00:00:00Z'), ('reaper:wait', now(), now()), "
        "('sweep', now(), NULL)"
    )
    assert _observe().passes == {"reaper": 1_772_323_200.0}


@pytest.fixture
def history(here: World) -> World:
    """A world with 20 000 ended jobs, as many published events, and one job under way."""
    sql(_MAKE_HISTORY, each=HISTORY // len(TERMINAL) + 1, ended=list(TERMINAL))
    here.create()
    return here


@pytest.mark.parametrize("is_analyzed", [False, True])
def test_a_look_reads_no_history(
    history: World, caplog: pytest.LogCaptureFixture, is_analyzed: bool
) -> None:
    if is_analyzed:
        sql("ANALYZE")
    with caplog.at_level(logging.DEBUG, "peewee"):
        assert [jobs.count for jobs in _observe().jobs] == [1]
    statements: list[Any] = [one.msg for one in caplog.records if one.name == "peewee"]
    assert len(statements) == 5
    pages = 0
    for text, params in statements:
        [row] = sql(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {text}", **(params or {}))
        plan = row["QUERY PLAN"][0]["Plan"]
        scans = [node for node in _nodes(plan) if node["Node Type"] == "Seq Scan"]
        assert {node["Relation Name"] for node in scans} <= {"platform_circuit", "maintenance_pass"}
        pages += plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
    assert pages < MOST_PAGES


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)
