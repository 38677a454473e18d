"""PUT /settings: the AI switch, and time zones that act from the next midnight of the old one."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import pytest
import redis

from aijobs.engine.cut import CutReason
from aijobs.engine.job_types import BUILTIN
from aijobs.engine.registry import Registry
from aijobs.engine.stages import Cut, settle
from tests.integration.http.caller import Caller, caller, problem
from tests.integration.ledger.books import a_day_passes, counts, sql
from tests.integration.models.states import created
from tests.world import World


def _order(here: World) -> dict[str, Any]:
    target = {"targetType": "knowledge_base", "targetId": str(here.base_id)}
    return {"jobType": "quiz_generation", **target}


def midnight(zone: str) -> dt.datetime:
    """When the day that it is in a zone ends (of those here, none changes its clocks)."""
    now = dt.datetime.now(ZoneInfo(zone))
    tomorrow = now.date() + dt.timedelta(days=1)
    return dt.datetime.combine(tomorrow, dt.time(), ZoneInfo(zone)).astimezone(dt.UTC)


def _at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def test_settings_are_the_defaults_until_they_are_changed(here: World, me: Caller) -> None:
    settings = here.engine.settings
    assert me.get("/settings").json == {
        "aiEnabled": True,
        "timeZone": "UTC",
        "nextTimeZone": None,
        "nextTimeZoneAt": None,
        "maxDailyAiJobs": settings.max_daily_ai_jobs,
        "maxDailyTokenBudget": settings.max_daily_token_budget,
        "monthlyTokenQuota": None,
        "maxActiveJobs": settings.max_active_jobs,
    }
    assert counts()["user_ai_settings"] == 0  # to look at them stores nothing


def test_switching_ai_off_ends_all_jobs_of_the_user(
    here: World, stranger: Caller, redis_client: redis.Redis
) -> None:
    """Queued ones at once, active ones on request, also of a type that cannot be cancelled."""
    firm = Registry(replace(definition, cancellable=False) for definition in BUILTIN)
    here = replace(here, engine=replace(here.engine, registry=firm))
    me = caller(here, here.user_id, redis_client)
    made = [me.post("/jobs", _order(here)).json["jobId"] for _ in range(3)]
    attempt = here.claim()
    active = str(attempt.job.id)
    assert problem(me.post(f"/jobs/{active}/cancel", {}))[:2] == (409, "JOB_NOT_CANCELLABLE")

    told = me.put("/settings", {"aiEnabled": False})
    assert (told.status_code, told.json["aiEnabled"]) == (200, False)
    for job_id in made:
        seen = me.get(f"/jobs/{job_id}").json
        expected = ("running", True) if job_id == active else ("cancelled", True)
        assert (seen["lifecycleStatus"], seen["cancelRequested"]) == expected
    assert redis_client.exists(f"job:cancel:{active}") == 1
    (day,) = me.get("/usage").json["today"]["items"]
    assert day["jobs"] == 1  # two have never been claimed

    before = counts()
    assert problem(me.post("/jobs", _order(here)))[:2] == (400, "AI_ANALYSIS_DISABLED")
    assert counts() == before
    assert stranger.get("/settings").json["aiEnabled"] is True

    settle(here.engine, attempt, Cut(CutReason.CANCELLED))
    here.engine.attempts.remove(attempt)
    assert me.get(f"/jobs/{active}").json["lifecycleStatus"] == "cancelled"
    assert sql("SELECT tokens_reserved AS r FROM platform_usage_daily") == [{"r": 0}]

    assert me.put("/settings", {"aiEnabled": True}).json["aiEnabled"] is True
    again = me.post("/jobs", _order(here))
    assert again.status_code == 201
    assert here.finish(here.job(UUID(again.json["jobId"]))).lifecycle_status == "succeeded"


def test_switching_off_the_jobs_of_one_leaves_those_of_another(here: World, me: Caller) -> None:
    mine, other = here.create(), created(here, user_id=uuid4())
    me.put("/settings", {"aiEnabled": False})
    assert here.job(mine.id).lifecycle_status == "cancelled"
    assert here.job(other.id).lifecycle_status == "queued"


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago", "Asia/Kolkata"])
def test_a_time_zone_acts_from_the_old_ones_next_midnight(
    here: World, me: Caller, zone: str
) -> None:
    told = me.put("/settings", {"timeZone": zone}).json
    assert (told["timeZone"], told["nextTimeZone"]) == ("UTC", zone)
    assert _at(told["nextTimeZoneAt"]) == midnight("UTC")
    today = me.get("/usage").json["today"]
    assert today["from"] == dt.datetime.now(dt.UTC).date().isoformat()
    assert _at(today["until"]) == midnight("UTC")

    me.put("/settings", {"aiEnabled": True})  # says nothing of the zone
    assert me.get("/settings").json["nextTimeZone"] == zone
    a_day_passes()
    now = me.get("/settings").json
    assert (now["timeZone"], now["nextTimeZone"], now["nextTimeZoneAt"]) == (zone, None, None)
    me.post("/jobs", _order(here))
    local = dt.datetime.now(ZoneInfo(zone)).date()
    assert sql("SELECT local_date AS day FROM user_ai_usage_daily") == [{"day": local}]
    today = me.get("/usage").json["today"]
    assert (today["from"], _at(today["until"])) == (local.isoformat(), midnight(zone))

    back = me.put("/settings", {"timeZone": "UTC"}).json
    assert (back["timeZone"], back["nextTimeZone"]) == (zone, "UTC")
    assert _at(back["nextTimeZoneAt"]) == midnight(zone)
    stays = me.put("/settings", {"timeZone": zone}).json
    assert (stays["timeZone"], stays["nextTimeZone"]) == (zone, None)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"timeZone": "Mars/Olympus"}, "timeZone"),
        ({"timeZone": "UTC+3"}, "timeZone"),
        ({"timeZone": "../etc/passwd"}, "timeZone"),
        ({"timeZone": "America"}, "timeZone"),
        ({"timeZone": "UTC\0"}, "timeZone"),
        ({"timeZone": ""}, "timeZone"),
        ({"aiEnabled": "no"}, "aiEnabled"),
        ({"maxDailyAiJobs": 1000}, "maxDailyAiJobs"),
    ],
)
def test_what_a_user_cannot_set_is_refused(me: Caller, body: dict[str, Any], field: str) -> None:
    before = me.get("/settings").json
    assert problem(me.put("/settings", body)) == (400, "INVALID_REQUEST", [field])
    assert me.get("/settings").json == before
