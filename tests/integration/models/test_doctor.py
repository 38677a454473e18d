"""Every invariant counts 0 on a healthy system, under load too, and sees what breaks it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from aijobs.engine.limits import platform_budget, user_limits
from aijobs.models import doctor
from aijobs.models import user_limits as user_limits_of
from tests.integration.models.states import STATES, job_in, sql
from tests.world import World, settings_for, world

#: What breaks an invariant, written past the triggers that keep it.
BREACHES = {
    "call_not_closed": (
        "INSERT INTO ai_usage_log (id, job_id, user_id, attempt_no, call_no, call_id, state, tier, "
        "provider, model, credential_mode, prompt_key, prompt_version, request_hash) "
        "SELECT gen_random_uuid(), id, user_id, 1, 9, '9', 'started', 'standard', 'p', 'm', "
        "credential_mode, 'k', 'v1', 'h' FROM ai_job WHERE lifecycle_status = 'succeeded'; "
        "UPDATE ai_job SET completed_at = now() - interval '1 h' "
        "WHERE lifecycle_status = 'succeeded'"
    ),
    "child_of_a_failed_job_waits": (
        "INSERT INTO ai_job_dependency (job_id, after_job_id) "
        "SELECT child.id, parent.id FROM ai_job child, ai_job parent "
        "WHERE child.lifecycle_status = 'queued' AND parent.lifecycle_status = 'failed'; "
        "UPDATE ai_job SET finished_at = now() - interval '1 h' WHERE lifecycle_status = 'failed'"
    ),
    "end_not_completed": (
        "UPDATE ai_job SET finished_at = now() - interval '1 h', completed_at = NULL "
        "WHERE lifecycle_status = 'succeeded'"
    ),
    "event_dead": "UPDATE outbox_event SET status = 'dead'",
    "event_not_relayed": "UPDATE outbox_event SET available_at = now() - interval '1 h'",
    "lease_lapsed": (
        "UPDATE ai_job SET lock_until = now() - interval '1 h' WHERE lifecycle_status = 'running'"
    ),
    "ledger_day_over_limit": "UPDATE user_ai_settings SET max_daily_ai_jobs = 1",
    "ledger_month_over_limit": "UPDATE user_ai_settings SET monthly_token_quota = 1",
    "ledger_platform_over_limit": "UPDATE platform_usage_daily SET cost_used = 10 ^ 12",
    "ledger_reserved_differs": (
        "UPDATE user_ai_usage_daily SET tokens_reserved = tokens_reserved + 1"
    ),
    "ledger_used_differs": "UPDATE platform_usage_daily SET cost_used = cost_used + 1",
    "probes_too_many": (
        "INSERT INTO platform_circuit (provider, model, state, epoch, probes) "
        "VALUES ('p', 'm', 'half_open', 3, 0); "
        "UPDATE ai_job SET circuit_epoch = 3, model_provider = 'p', model_name = 'm' "
        "WHERE lifecycle_status = 'running'"
    ),
    "reservation_not_settled": (
        "UPDATE ai_job_reservation SET settled_at = NULL, tokens = 0, cost_micro_usd = 0 "
        "WHERE settled_at IS NOT NULL"
    ),
    "result_missing": "DELETE FROM ai_job_result",
}


@pytest.fixture
def here(database_url: str, redis_url: str) -> Iterator[World]:
    """A database of each test's own, since what is broken stays so."""
    with world(settings_for(database_url, redis_url)) as made:
        yield made


@pytest.fixture
def busy(here: World) -> World:
    """A job that has gone its whole way, and one in each other state; the queued one comes last,
    since each of the others is the only one that can be claimed."""
    here.finish(here.create())
    for state in sorted(set(STATES) - {"succeeded"}, key=lambda state: state == "queued"):
        job_in(here, state)
    return here


def _broken(here: World) -> dict[str, int]:
    settings = here.engine.settings
    findings = doctor.examine(platform_budget(settings), missed_seconds=settings.missed_seconds)
    return {finding.name: finding.violations for finding in findings if finding.violations}


def test_every_invariant_has_a_breach_here_and_says_what_it_means(here: World) -> None:
    settings = here.engine.settings
    found = doctor.examine(platform_budget(settings), missed_seconds=settings.missed_seconds)
    assert [finding.name for finding in found] == sorted(BREACHES)
    folder = Path(doctor.__file__).parent / "sql" / "doctor"
    assert {path.stem for path in folder.iterdir()} == set(BREACHES)
    assert all(finding.meaning.endswith(".") for finding in found)


def test_a_system_at_work_is_healthy(busy: World) -> None:
    assert _broken(busy) == {}


@pytest.mark.parametrize("name", BREACHES)
def test_what_is_broken_is_counted(busy: World, name: str) -> None:
    sql(f"SET session_replication_role = replica; {BREACHES[name]}; RESET session_replication_role")
    assert _broken(busy).get(name, 0) > 0


def test_it_is_healthy_at_every_instant_of_a_rush(here: World) -> None:
    """Each statement sees one instant, in which no job is half created, half settled, half done."""
    done = threading.Event()
    seen: list[dict[str, int]] = []

    def watch() -> None:
        while not done.is_set():
            seen.append(_broken(here))

    def rush(_: int) -> None:
        other = here.other_process()
        for _ in range(3):
            other.create()
            other.run(other.claim())

    with ThreadPoolExecutor(5) as pool:
        watching = pool.submit(watch)
        try:
            list(pool.map(rush, range(4)))
        finally:
            done.set()
        watching.result()
    assert len(seen) > 3
    assert [found for found in seen if found] == []


def test_a_limit_that_an_administrator_has_lowered_since_is_no_breach(busy: World) -> None:
    """What was granted under the old one stays granted."""
    lower = {"max_daily_ai_jobs": 0, "max_daily_token_budget": 0, "monthly_token_quota": 0}
    defaults = user_limits(busy.engine.settings)
    user_limits_of.change(busy.user_id, defaults, lower, who="admin:test")
    assert _broken(busy) == {}
    sql("UPDATE admin_audit SET at = at - interval '40 days'")
    assert set(_broken(busy)) == {"ledger_day_over_limit", "ledger_month_over_limit"}
