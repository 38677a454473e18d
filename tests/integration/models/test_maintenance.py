"""Periodic passes: one at a time, on record, and undone on record when they fail."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from aijobs.models import maintenance
from aijobs.models.maintenance import Waiting, due, record_failure, run_pass, waited
from tests.integration.models.edges import nothing_changes
from tests.integration.models.rivals import race
from tests.integration.models.states import running, sql
from tests.world import World


def _pass(name: str = "reaper") -> dict[str, Any]:
    return sql("SELECT * FROM maintenance_pass WHERE name = %(name)s", name=name)[0]


def _age(seconds: float) -> None:
    sql(
        "UPDATE maintenance_pass SET last_started_at = last_started_at - %(s)s * interval '1 s', "
        "last_succeeded_at = last_succeeded_at - %(s)s * interval '1 s'",
        s=seconds,
    )


def test_a_pass_runs_and_is_on_record(here: World) -> None:
    told: list[float | None] = []

    def work(since_success: float | None) -> int:
        told.append(since_success)
        return 3

    assert run_pass("reaper", work, min_seconds=18) == 3
    row = _pass()
    assert told == [None]
    assert row["last_started_at"] == row["last_succeeded_at"]
    assert row["last_error"] is None


def test_a_pass_is_told_how_long_its_last_success_is_ago(here: World) -> None:
    run_pass("reaper", lambda _: 0, min_seconds=18)
    _age(600)
    told: list[float | None] = []

    def work(since_success: float | None) -> int:
        told.append(since_success)
        return 0

    run_pass("reaper", work, min_seconds=18)
    assert told[0] is not None and 600 <= told[0] < 660


def test_a_pass_that_ran_just_now_does_not_run_again(here: World) -> None:
    run_pass("reaper", lambda _: 0, min_seconds=18)
    with nothing_changes():
        assert run_pass("reaper", _never, min_seconds=18) is None
    _age(19)
    assert run_pass("reaper", lambda _: 7, min_seconds=18) == 7


def test_passes_of_other_names_do_not_stand_in_the_way(here: World) -> None:
    def work(_: float | None) -> int:
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(run_pass, "sweep", lambda _: 5, min_seconds=18)
            return other.result(timeout=30) or 0

    assert run_pass("reaper", work, min_seconds=18) == 5


def test_a_pass_that_runs_elsewhere_is_left_to_it_at_once(here: World) -> None:
    def work(_: float | None) -> int:
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(run_pass, "reaper", _never, min_seconds=0)
            assert other.result(timeout=30) is None
        return 1

    assert run_pass("reaper", work, min_seconds=0) == 1


def test_of_many_that_begin_a_pass_at_once_one_runs_it(here: World) -> None:
    ran = race([lambda: run_pass("reaper", lambda _: 1, min_seconds=18)] * 8)
    assert sorted(ran, key=str) == [1] + [None] * 7


def test_a_pass_works_in_transactions_of_its_own(here: World) -> None:
    def work(_: float | None) -> int:
        running(here)
        raise OSError("half way")

    with pytest.raises(OSError, match="half way"):
        run_pass("reaper", work, min_seconds=18)
    assert sql("SELECT lifecycle_status FROM ai_job") == [{"lifecycle_status": "running"}]


def test_a_failed_pass_is_no_success_and_is_not_tried_again_at_once(here: World) -> None:
    run_pass("reaper", lambda _: 0, min_seconds=18)
    _age(600)
    succeeded = _pass()["last_succeeded_at"]
    with pytest.raises(ZeroDivisionError):
        run_pass("reaper", lambda _: 1 // 0, min_seconds=18)
    record_failure("reaper", "ZeroDivisionError: division by zero" * 50)
    row = _pass()
    assert row["last_succeeded_at"] == succeeded
    assert row["last_started_at"] > succeeded
    assert len(row["last_error"]) == 500
    assert run_pass("reaper", _never, min_seconds=18) is None
    _age(19)
    run_pass("reaper", lambda _: 0, min_seconds=18)
    assert _pass()["last_error"] is None


def test_a_pass_that_only_fails_is_on_record_too(here: World) -> None:
    record_failure("purge", "OSError: disk full")
    row = _pass("purge")
    assert (row["last_succeeded_at"], row["last_error"]) == (None, "OSError: disk full")


def test_a_pass_that_waits_leaves_no_trace(here: World) -> None:
    run_pass("reaper", lambda _: 0, min_seconds=18)
    _age(600)

    def work(_: float | None) -> int:
        raise Waiting("everybody gets one lease time")

    with nothing_changes(), pytest.raises(Waiting):
        run_pass("reaper", work, min_seconds=18)


def test_a_wait_begins_with_the_first_call_and_ends_after_its_time(here: World) -> None:
    run_pass("reaper", lambda _: 0, min_seconds=18)
    assert not waited("reaper", 60, gap_seconds=600)
    assert not waited("reaper", 60, gap_seconds=600)
    sql("UPDATE maintenance_pass SET last_started_at = now() - interval '61 s'")
    sql(
        "UPDATE maintenance_pass SET last_succeeded_at = now() - interval '10 min' "
        "WHERE name = 'reaper'"
    )
    assert waited("reaper", 60, gap_seconds=600)


def test_a_wait_that_nobody_looked_at_begins_anew(here: World) -> None:
    """The outage went on: whoever was to renew has had no time for it."""
    assert not waited("reaper", 60, gap_seconds=90)
    _age(91)
    assert not waited("reaper", 60, gap_seconds=90)
    _age(61)
    assert waited("reaper", 60, gap_seconds=90)


def test_a_wait_from_before_the_last_success_is_over(here: World) -> None:
    assert not waited("reaper", 60, gap_seconds=600)
    sql("UPDATE maintenance_pass SET last_started_at = now() - interval '1 h'")
    run_pass("reaper", lambda _: 0, min_seconds=18)
    assert not waited("reaper", 60, gap_seconds=600)
    assert sql(
        "SELECT last_started_at > now() - interval '1 min' AS fresh FROM maintenance_pass "
        "WHERE name = 'reaper:wait'"
    ) == [{"fresh": True}]


def test_a_pass_is_due_by_its_own_age(here: World) -> None:
    ages = {"reaper": 18.0, "sweep": 18.0, "purge": 2160.0}
    assert due(ages) == {"reaper", "sweep", "purge"}
    for name in ages:
        run_pass(name, lambda _: 0, min_seconds=0)
    assert due(ages) == set()
    _age(19)
    assert due(ages) == {"reaper", "sweep"}
    _age(3600)
    assert due(ages) == set(ages)


def test_nothing_is_due_when_nothing_is_asked_for(here: World) -> None:
    run_pass("reaper", lambda _: 0, min_seconds=0)
    assert maintenance.due({}) == set()


def _never(_: float | None) -> int:
    raise AssertionError("this pass must not run")
