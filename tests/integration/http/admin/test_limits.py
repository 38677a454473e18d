"""An administrator reads and changes what a user may ask for."""

from __future__ import annotations

import datetime as dt
from threading import Thread
from typing import Any
from uuid import uuid4

import pytest

from aijobs.engine.attempt import Attempt
from aijobs.engine.stages import Next, execute, resolve, settle
from aijobs.engine.stages.outcome import Waits
from aijobs.models import probes
from aijobs.models.tables import AiJob
from tests.eventually import eventually
from tests.integration.engine.seen import causes, events, rows
from tests.integration.engine.wire import attempt
from tests.integration.http.admin.conftest import CHIEF
from tests.integration.http.caller import Caller, problem
from tests.scripted_provider import ScriptedProvider
from tests.world import ROOM, World, whole_database

DEFAULTS = {
    "maxDailyAiJobs": ROOM["max_daily_ai_jobs"],
    "maxDailyTokenBudget": ROOM["max_daily_token_budget"],
    "monthlyTokenQuota": None,
    "maxActiveJobs": ROOM["max_active_jobs"],
}
QUIZ = {"jobType": "quiz_generation", "targetType": "knowledge_base"}


def _path(here: World) -> str:
    return f"/users/{here.user_id}/limits"


def test_who_has_never_asked_has_the_defaults_and_reading_stores_nothing(reader: Caller) -> None:
    before, user_id = whole_database(), str(uuid4())
    answer = reader.get(f"/users/{user_id}/limits")
    assert answer.json == {"userId": user_id, **DEFAULTS}
    assert whole_database() == before


def test_what_is_given_changes_and_the_rest_stays(wired: World, admin: Caller, me: Caller) -> None:
    changed = admin.put(_path(wired), {"maxDailyAiJobs": 3, "monthlyTokenQuota": 500_000})
    limits = DEFAULTS | {"maxDailyAiJobs": 3, "monthlyTokenQuota": 500_000}
    assert (changed.status_code, changed.json) == (200, {"userId": str(wired.user_id), **limits})
    assert admin.put(_path(wired), {"monthlyTokenQuota": None}).json["monthlyTokenQuota"] is None
    mine = me.get("/settings").json
    assert {name: mine[name] for name in DEFAULTS} == DEFAULTS | {"maxDailyAiJobs": 3}
    assert mine["aiEnabled"] is True


def test_the_next_job_is_held_against_the_new_limit(
    wired: World, admin: Caller, me: Caller
) -> None:
    body = {**QUIZ, "targetId": str(wired.base_id)}
    admin.put(_path(wired), {"maxDailyAiJobs": 1, "maxActiveJobs": 5})
    assert me.post("/jobs", body).status_code == 201
    assert problem(me.post("/jobs", body)) == (400, "DAILY_JOB_LIMIT_EXCEEDED", [])
    admin.put(_path(wired), {"maxDailyAiJobs": 5, "maxActiveJobs": 1})
    assert problem(me.post("/jobs", body)) == (429, "TOO_MANY_JOBS", [])
    admin.put(_path(wired), {"maxActiveJobs": 2})
    assert me.post("/jobs", body).status_code == 201


def test_a_limit_below_what_is_used_refuses_what_comes_and_takes_nothing_back(
    wired: World, admin: Caller, me: Caller
) -> None:
    job = wired.create()
    assert admin.put(_path(wired), {"maxDailyTokenBudget": 0}).status_code == 200
    body = {**QUIZ, "targetId": str(wired.base_id)}
    assert problem(me.post("/jobs", body)) == (400, "DAILY_TOKEN_BUDGET_EXCEEDED", [])
    assert wired.finish(job).lifecycle_status == "succeeded"


def test_who_waits_for_a_budget_tries_again_when_it_is_raised(
    wired: World, admin: Caller, me: Caller, server: ScriptedProvider
) -> None:
    """The first call was cut off and stands at its bound; the second one has no room today."""
    job = wired.create()
    rows(
        "UPDATE user_ai_settings SET max_daily_token_budget = "
        "(SELECT tokens_reserved FROM user_ai_usage_daily)"
    )
    server.enqueue("accept_then_reset")
    attempt(wired, job)
    attempt(wired, job)
    assert causes(job.id)[-1] == "hand_back:budget"
    assert me.get(f"/jobs/{job.id}").json["waitingFor"]["reason"] == "budget"
    hints = len(events(job.id))
    admin.put(_path(wired), {"maxDailyTokenBudget": 10**9})
    assert me.get(f"/jobs/{job.id}").json["waitingFor"]["reason"] == "queue"
    assert len(events(job.id)) == hints + 1
    assert wired.finish(job).lifecycle_status == "succeeded"


def test_who_was_refused_by_the_limits_of_before_tries_again(
    wired: World, admin: Caller, me: Caller, server: ScriptedProvider
) -> None:
    """The limits change between the refusal and the edge that makes the job wait."""
    job, claimed, refused = _refused_call(wired, server)
    admin.put(_path(wired), {"maxDailyTokenBudget": 10**9})
    settle(wired.engine, claimed, refused)
    assert causes(job.id)[-1] == "hand_back:budget"
    assert me.get(f"/jobs/{job.id}").json["waitingFor"]["reason"] == "queue"
    assert wired.finish(job).lifecycle_status == "succeeded"


def test_who_is_about_to_wait_waits_for_a_change_under_way(
    wired: World, admin: Caller, me: Caller, server: ScriptedProvider
) -> None:
    """Its edge is taken after the change has looked for waiting jobs, and before its commit."""
    job, claimed, refused = _refused_call(wired, server)
    beside = Thread(target=settle, args=(wired.engine, claimed, refused))

    def about_to_commit(point: str) -> None:
        if point == "settings.before_commit":
            beside.start()
            eventually(lambda: rows("SELECT FROM pg_locks WHERE NOT granted"))

    probes.install(about_to_commit)
    try:
        admin.put(_path(wired), {"maxDailyTokenBudget": 10**9})
    finally:
        probes.install(None)
    beside.join(timeout=30)
    assert causes(job.id)[-1] == "hand_back:budget"
    assert me.get(f"/jobs/{job.id}").json["waitingFor"]["reason"] == "queue"


def test_midnight_between_the_refusal_and_the_wait_is_not_missed(
    wired: World, me: Caller, server: ScriptedProvider
) -> None:
    job, claimed, refused = _refused_call(wired, server)
    assert claimed.job.locked_at is not None
    claimed.job.locked_at -= dt.timedelta(days=1)
    settle(wired.engine, claimed, refused)
    assert causes(job.id)[-1] == "hand_back:budget"
    assert me.get(f"/jobs/{job.id}").json["waitingFor"]["reason"] == "queue"


def _refused_call(here: World, server: ScriptedProvider) -> tuple[AiJob, Attempt, Waits]:
    """A job whose second call has no room today, and the end of that attempt, not yet settled."""
    job = here.create()
    rows(
        "UPDATE user_ai_settings SET max_daily_token_budget = "
        "(SELECT tokens_reserved FROM user_ai_usage_daily)"
    )
    server.enqueue("accept_then_reset")
    attempt(here, job)
    here.make_due(job.id)
    claimed = here.claim(job.queue_name)
    resolved = resolve(here.engine, claimed)
    assert isinstance(resolved, Next)
    refused = execute(here.engine, claimed, resolved.value)
    assert isinstance(refused, Waits)
    return job, claimed, refused


def test_who_waits_for_something_else_goes_on_waiting(wired: World, admin: Caller) -> None:
    job = wired.create()
    rows("UPDATE ai_job SET available_at = now() + interval '1 hour'")
    hints = events(job.id)
    admin.put(_path(wired), {"maxDailyTokenBudget": 10**9})
    assert events(job.id) == hints


def test_each_change_is_in_the_audit_with_what_was_before(wired: World, admin: Caller) -> None:
    admin.put(_path(wired), {"maxActiveJobs": 7, "monthlyTokenQuota": 10})
    for nothing in ({}, {"maxActiveJobs": 7}, {"monthlyTokenQuota": 10, "maxActiveJobs": 7}):
        assert admin.put(_path(wired), nothing).status_code == 200
    admin.put(_path(wired), {"monthlyTokenQuota": None, "maxActiveJobs": 7})
    second, first = admin.get("/audit", what="user.limits").json["items"]
    assert (first["who"], first["target"]) == (f"admin:{CHIEF}", str(wired.user_id))
    assert first["before"] == {
        "maxActiveJobs": ROOM["max_active_jobs"],
        "monthlyTokenQuota": None,
    }
    assert first["after"] == {"maxActiveJobs": 7, "monthlyTokenQuota": 10}
    assert second["before"] == {"monthlyTokenQuota": 10}
    assert second["after"] == {"monthlyTokenQuota": None}


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"maxDailyAiJobs": -1}, ["maxDailyAiJobs"]),
        ({"maxDailyAiJobs": None}, ["maxDailyAiJobs"]),
        ({"maxActiveJobs": 2**31}, ["maxActiveJobs"]),
        ({"maxActiveJobs": "5"}, ["maxActiveJobs"]),
        ({"maxActiveJobs": True}, ["maxActiveJobs"]),
        ({"maxDailyTokenBudget": 1.5}, ["maxDailyTokenBudget"]),
        ({"maxDailyTokenBudget": 10**15 + 1}, ["maxDailyTokenBudget"]),
        ({"monthlyTokenQuota": -1}, ["monthlyTokenQuota"]),
        ({"aiEnabled": False}, ["aiEnabled"]),
    ],
)
def test_what_is_no_limit_is_refused_by_field(
    wired: World, admin: Caller, body: dict[str, Any], fields: list[str]
) -> None:
    before = whole_database()
    assert problem(admin.put(_path(wired), body)) == (400, "INVALID_REQUEST", fields)
    assert whole_database() == before
