"""The reaper: what becomes of a job whose lease has lapsed; a cancel comes before all else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID

import psycopg2
import pytest

from aijobs.actors import reaper as reaper_module
from aijobs.actors.reaper import Reaper
from aijobs.engine.job_types import BUILTIN
from aijobs.engine.registry import Registry
from aijobs.engine.stages import Next, execute, resolve
from aijobs.models import maintenance, probes
from aijobs.models.errors import LeaseLost
from aijobs.models.lifecycle import cancel, fail, lapsed, request_cancel
from aijobs.models.lifecycle.holding import Failure
from tests.integration.engine.seen import causes, events, rows, wait_seconds
from tests.world import World, whole_database


def _abandoned(here: World, job_type: str = "quiz_generation") -> UUID:
    """A job whose holder is gone for an hour."""
    job_id = here.create(job_type).id
    here.engine.attempts.remove(here.claim())
    here.lapse(job_id)
    return job_id


def _reap(here: World) -> int:
    return Reaper(here.engine).run_once(None)


def test_what_is_healthy_or_within_its_grace_is_left_alone(here: World) -> None:
    """A lease of 60 s and a grace of 30 s: at 85 s it is nobody's, at 95 s it is the reaper's."""
    queued, running = here.create(), here.create()
    job_id = here.claim().job.id
    assert job_id == queued.id
    before = whole_database()
    assert _reap(here) == 0
    here.lapse(job_id, 85)
    changed = whole_database()
    assert _reap(here) == 0
    assert whole_database() == changed
    assert {name for name in before if before[name] != changed[name]} == {"ai_job"}
    here.lapse(job_id, 10)
    assert _reap(here) == 1
    assert here.job(job_id).lifecycle_status == "queued"
    assert here.job(running.id).attempt_no == 0


def test_a_lapsed_job_is_queued_again_and_a_retry_counted(here: World) -> None:
    job_id = _abandoned(here)
    assert _reap(here) == 1
    job = here.job(job_id)
    assert (job.lifecycle_status, job.retry_count, job.crash_count) == ("queued", 1, 1)
    assert (job.attempt_no, job.dispatch_no) == (1, 2)
    assert (job.locked_by, job.locked_at, job.lock_until) == (None, None, None)
    assert -1 < wait_seconds(job) <= 2
    assert causes(job_id) == ["create", "claim", "expire", "requeue"]
    assert events(job_id) == ["enqueue:job:1", "enqueue:job:2"]
    assert _reap(here) == 0


def test_a_cancel_that_was_requested_comes_before_another_try(here: World) -> None:
    job_id = _abandoned(here)
    request_cancel(job_id, reason="by user")
    assert _reap(here) == 1
    job = here.job(job_id)
    assert (job.lifecycle_status, job.error_code) == ("cancelled", "JOB_CANCELLED")
    assert (job.retry_count, job.crash_count) == (0, 1)
    assert causes(job_id) == ["create", "claim", "confirm_cancel"]
    assert events(job_id)[-1] == "ai.job.cancelled:job"


def test_without_a_retry_left_it_is_given_up(here: World) -> None:
    job_id = _abandoned(here)
    rows("UPDATE ai_job SET retry_count = max_retry_count")
    assert _reap(here) == 1
    job = here.job(job_id)
    assert (job.lifecycle_status, job.error_code) == ("failed", "LEASE_EXPIRED")
    assert job.public_error_message == "The job was interrupted too often."
    assert causes(job_id) == ["create", "claim", "expire", "give_up"]
    assert events(job_id)[-1] == "ai.job.failed:job"
    assert rows("SELECT settled_at IS NOT NULL AS s FROM ai_job_reservation") == [{"s": True}]


@pytest.mark.parametrize(("crashes", "status"), [(4, "queued"), (5, "failed")])
@pytest.mark.parametrize("validated", [False, True])
def test_the_sixth_crash_is_the_last_whatever_is_left(
    here: World, crashes: int, status: str, validated: bool
) -> None:
    job_id = _validated(here) if validated else _abandoned(here)
    rows("UPDATE ai_job SET crash_count = %(n)s, max_retry_count = 10", n=crashes)
    assert _reap(here) == 1
    job = here.job(job_id)
    assert (job.lifecycle_status, job.crash_count) == (status, crashes + 1)
    assert job.error_code == (None if status == "queued" else "LEASE_EXPIRED")


def _validated(here: World) -> UUID:
    """A job whose holder died between EXECUTE and PROJECT."""
    job_id = here.create().id
    attempt = here.claim()
    resolved = resolve(here.engine, attempt)
    assert isinstance(resolved, Next)
    assert isinstance(execute(here.engine, attempt, resolved.value), Next)
    here.engine.attempts.remove(attempt)
    here.lapse(job_id)
    return job_id


@pytest.mark.parametrize("retries", [0, 3])
def test_a_result_that_is_validated_costs_no_retry_and_needs_none(
    here: World, retries: int
) -> None:
    job_id = _validated(here)
    rows("UPDATE ai_job SET retry_count = %(n)s", n=retries)
    assert _reap(here) == 1
    job = here.job(job_id)
    assert (job.lifecycle_status, job.retry_count, job.crash_count) == ("queued", retries, 1)
    here.make_due(job_id)
    here.run(here.claim())
    assert here.job(job_id).lifecycle_status == "succeeded"
    assert len(rows("SELECT 1 FROM ai_usage_log")) == 1


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ("", "queued"),
        (", cancel_requested_at = now(), cancel_reason = 'by user'", "cancelled"),
        (", retry_count = max_retry_count", "failed"),
    ],
)
def test_a_job_that_was_left_expired_is_decided_on(here: World, change: str, status: str) -> None:
    """By a reaper of an older version that made two steps of it, or by hand."""
    job_id = _abandoned(here)
    rows(
        "UPDATE ai_job SET lifecycle_status = 'expired', locked_by = NULL, locked_at = NULL, "
        f"lock_until = NULL, crash_count = 1{change}"
    )
    assert _reap(here) == 1
    job = here.job(job_id)
    assert (job.lifecycle_status, job.crash_count) == (status, 1)
    assert job.retry_count == (1 if status == "queued" else job.retry_count)


@pytest.mark.parametrize(
    ("on_timeout", "seconds", "validated", "expected"),
    [
        ("fail", 121, False, ("failed", "JOB_TIMEOUT")),
        ("fail", 100, False, ("queued", None)),
        ("fail", 121, True, ("queued", None)),
        ("retry", 121, False, ("queued", None)),
    ],
)
def test_a_time_that_was_up_as_well_is_the_end_where_the_definition_says_so(
    here: World,
    on_timeout: str,
    seconds: int,
    validated: bool,
    expected: tuple[str, str | None],
) -> None:
    """A validated result is never thrown away for time."""
    job_id = _validated(here) if validated else _abandoned(here)
    rows("UPDATE ai_job SET started_at = now() - %(s)s * interval '1 second'", s=seconds)
    types = [replace(definition, on_timeout=on_timeout) for definition in BUILTIN]
    world = replace(here, engine=replace(here.engine, registry=Registry(types)))
    assert _reap(world) == 1
    job = here.job(job_id)
    assert (job.lifecycle_status, job.error_code) == expected


def test_a_locked_job_of_a_runtime_lapses_like_any_other(here: World) -> None:
    job_id = here.create().id
    rows(
        "UPDATE ai_job SET lifecycle_status = 'locked', attempt_no = 1, locked_by = 'runtime', "
        "locked_at = now(), lock_until = now() - interval '1 hour'"
    )
    assert _reap(here) == 1
    assert causes(job_id) == ["create", "expire", "requeue"]


def test_a_type_that_is_unknown_here_is_queued_with_a_common_backoff(here: World) -> None:
    job_id = _abandoned(here)
    ignorant = replace(here, engine=replace(here.engine, registry=Registry()))
    assert _reap(ignorant) == 1
    assert here.job(job_id).lifecycle_status == "queued"
    assert -1 < wait_seconds(here.job(job_id)) <= 5


@pytest.mark.parametrize("retries", [0, 1, 2])
def test_the_delay_is_bound_by_base_and_retries(here: World, retries: int) -> None:
    """Full jitter: only its bound is known, base x 2^n."""
    job_id = _abandoned(here)
    rows("UPDATE ai_job SET retry_count = %(n)s", n=retries)
    assert _reap(here) == 1
    assert -1 < wait_seconds(here.job(job_id)) <= 2 * 2**retries


def test_it_reaps_page_by_page(here: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reaper_module, "_BATCH", 3)
    jobs = [_abandoned(here) for _ in range(8)]
    assert _reap(here) == 8
    assert {here.job(job_id).lifecycle_status for job_id in jobs} == {"queued"}


@contextmanager
def locked(here: World, job_id: UUID) -> Iterator[None]:
    """Another connection holds the row during the block."""
    with (
        closing(psycopg2.connect(here.engine.settings.database_url)) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT 1 FROM ai_job WHERE id = %s FOR UPDATE", (str(job_id),))
        yield
        connection.rollback()


def test_a_busy_row_waits_for_the_next_pass_and_stops_nothing(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reaper_module, "_BATCH", 1)
    busy, other = _abandoned(here), _abandoned(here)
    here.lapse(busy, 7200)  # the longest lapsed, so the first
    with locked(here, busy):
        assert _reap(here) == 1
        assert here.job(other).lifecycle_status == "queued"
        assert here.job(busy).lifecycle_status == "running"
    assert _reap(here) == 1
    assert here.job(busy).lifecycle_status == "queued"


def test_rows_that_cannot_be_moved_hide_no_others(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More of them than a page holds, and the longest lapsed of all."""
    monkeypatch.setattr(reaper_module, "_BATCH", 2)
    monkeypatch.setattr(reaper_module, "log", _Silent())
    bad = [_abandoned(here) for _ in range(5)]
    good = [_abandoned(here) for _ in range(3)]
    for job_id in bad:
        here.lapse(job_id, 7200)
    rows(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'a bad row'; END $$"
    )
    names = ", ".join(f"'{job_id}'" for job_id in bad)
    rows(
        f"CREATE TRIGGER refuse BEFORE UPDATE ON ai_job FOR EACH ROW WHEN (OLD.id IN ({names})) "
        "EXECUTE FUNCTION refuse()"
    )
    assert _reap(here) == 3
    assert {here.job(job_id).lifecycle_status for job_id in good} == {"queued"}
    assert {here.job(job_id).lifecycle_status for job_id in bad} == {"running"}


class _Silent:
    """A log that shows nothing: a traceback with all locals takes seconds."""

    def debug(self, *_: object, **__: object) -> None: ...

    info = warning = error = exception = debug


def test_two_at_once_decide_once_on_each_job(here: World) -> None:
    jobs = [_abandoned(here) for _ in range(10)]
    start = threading.Barrier(2)

    def reap(_: int) -> int:
        start.wait(30)
        return _reap(here)

    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(reap, range(2))) == 10
    for job_id in jobs:
        assert (here.job(job_id).crash_count, here.job(job_id).retry_count) == (1, 1)
        assert causes(job_id) == ["create", "claim", "expire", "requeue"]


@pytest.mark.parametrize("move", ["the holder fails it", "the user cancels it", "a beat renews it"])
def test_a_job_that_moves_on_meanwhile_is_left_to_it(here: World, move: str) -> None:
    """Between the page and the decision: one winner, and the reaper says nothing of it."""
    job_id = here.create().id
    attempt = here.claim()
    here.lapse(job_id)
    moved: list[bool] = []

    def page(**given: Any) -> list[tuple[UUID, str]]:
        found = lapsed(**given)
        if not moved:
            moved.append(True)
            if move == "the holder fails it":
                fail(attempt.lease, Failure("OUTPUT_EMPTY", "", ""), patient=lambda: False)
            elif move == "a beat renews it":
                rows("UPDATE ai_job SET lock_until = now() + interval '1 minute'")
            else:
                rows(
                    "UPDATE ai_job SET lifecycle_status = 'expired', locked_by = NULL, "
                    "locked_at = NULL, lock_until = NULL"
                )
                cancel(job_id, reason="r", actor="user")
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reaper_module, "lapsed", page)
        assert _reap(here) == 0
    expected = {
        "the holder fails it": "failed",
        "the user cancels it": "cancelled",
        "a beat renews it": "running",
    }
    assert here.job(job_id).lifecycle_status == expected[move]
    assert here.job(job_id).crash_count == 0


def test_a_holder_that_wakes_after_the_reaper_changes_nothing(here: World) -> None:
    job_id = here.create().id
    attempt = here.claim()
    here.lapse(job_id)
    _reap(here)
    before = whole_database()
    with pytest.raises(LeaseLost):
        fail(attempt.lease, Failure("OUTPUT_EMPTY", "", ""), patient=lambda: False)
    here.run(attempt)
    assert whole_database() == before


def test_a_reaper_that_dies_within_a_decision_leaves_it_undecided(here: World) -> None:
    class Killed(BaseException): ...

    def die(point: str) -> None:
        if point == "reap.before_commit":
            raise Killed

    job_id = _abandoned(here)
    before = whole_database()
    probes.install(die)
    try:
        with pytest.raises(Killed):
            _reap(here)
    finally:
        probes.install(None)
    assert whole_database() == before
    assert _reap(here) == 1
    assert here.job(job_id).crash_count == 1


def _age_wait(seconds: float) -> None:
    rows(
        "UPDATE maintenance_pass SET last_started_at = last_started_at "
        "- %(s)s * interval '1 second' WHERE name = 'reaper:wait'",
        s=seconds,
    )


def test_after_an_outage_every_lease_gets_its_time_to_be_renewed(here: World) -> None:
    """All leases look dead then. Normal is one lease time, or two intervals, since a success."""
    job_id = _abandoned(here)
    reaper = Reaper(here.engine)
    before = whole_database()["ai_job"]
    for _ in range(2):
        with pytest.raises(maintenance.Waiting):
            reaper.run_once(61)
    _age_wait(50)
    with pytest.raises(maintenance.Waiting):
        reaper.run_once(111)
    assert whole_database()["ai_job"] == before
    _age_wait(11)
    assert reaper.run_once(122) == 1
    assert here.job(job_id).lifecycle_status == "queued"


@pytest.mark.parametrize("since", [None, 0.0, 30.0, 60.0])
def test_without_an_outage_it_begins_at_once(here: World, since: float | None) -> None:
    _abandoned(here)
    assert Reaper(here.engine).run_once(since) == 1
