"""GET /usage by hand, and a job whose budget is used up at its call: it waits for tomorrow."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest
import redis

from tests.integration.engine.wire import COSTS, TOLD, attempt, books, bound, causes, dearest
from tests.integration.http.caller import Caller, caller
from tests.integration.ledger.books import a_day_passes, sql
from tests.integration.ledger.test_settings import midnight
from tests.scripted_provider import ScriptedProvider
from tests.world import World

USED = TOLD[0] + TOLD[2]


def _today(me: Caller) -> dict[str, int]:
    (item,) = me.get("/usage").json["today"]["items"]
    return {name: value for name, value in item.items() if name != "apiKeyMode"}


def test_a_user_without_a_job_has_used_nothing(me: Caller) -> None:
    usage = me.get("/usage").json
    now = dt.datetime.now(dt.UTC)
    assert usage["today"]["from"] == now.date().isoformat()
    assert usage["month"]["from"] == now.date().replace(day=1).isoformat()
    until = dt.datetime.fromisoformat(usage["month"]["until"])
    assert (until.day, until.hour, until > now) == (1, 0, True)
    assert usage["today"]["items"] == usage["month"]["items"] == []


def test_usage_is_what_calls_cost_and_what_jobs_hold(
    wired: World, server: ScriptedProvider, redis_client: redis.Redis
) -> None:
    """Two jobs have called, each 120 tokens in and 80 out; a third one waits."""
    me = caller(wired, wired.user_id, redis_client)
    for _ in range(2):
        wired.finish(wired.create())
    wired.create()
    usage = me.get("/usage").json
    (item,) = usage["today"]["items"]
    assert usage["month"]["items"] == [item]
    assert item.pop("costMicroUsd") in {COSTS[0] * 2, sum(COSTS), COSTS[1] * 2}
    assert item == {
        "apiKeyMode": "platform_key",
        "jobs": 3,
        "tokensUsed": 2 * 200,
        "tokensReserved": sum(bound(server.calls[0])),
        "tokensOverrun": 0,
    }
    (held,) = sql("SELECT cost_reserved AS cost FROM platform_usage_daily")
    assert held["cost"] == dearest(server.calls[0])


def test_what_a_provider_uses_beyond_its_limit_is_overrun(
    wired: World, server: ScriptedProvider, redis_client: redis.Redis
) -> None:
    server.script("ok", usage={"prompt_tokens": 100, "completion_tokens": 50_000})
    wired.finish(wired.create())
    reserved = sum(bound(server.calls[0]))
    day = _today(caller(wired, wired.user_id, redis_client))
    assert reserved < 50_100
    assert (day["tokensUsed"], day["tokensOverrun"]) == (50_100, 50_100 - reserved)
    assert day["tokensReserved"] == 0


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "Pacific/Pago_Pago"])
def test_a_job_over_its_budget_waits_for_the_users_midnight(
    wired: World, server: ScriptedProvider, redis_client: redis.Redis, zone: str
) -> None:
    """Its first call was cut off and stands at its bound, so that the second one has no room."""
    me = caller(wired, wired.user_id, redis_client)
    me.put("/settings", {"timeZone": zone})
    a_day_passes()
    job = wired.create()
    (held,) = sql("SELECT tokens FROM ai_job_reservation")
    sql(
        "UPDATE user_ai_settings SET max_daily_token_budget = %(most)s",
        most=held["tokens"] * 3 // 2,
    )
    server.enqueue("accept_then_reset")
    assert attempt(wired, job).retry_count == 1
    handed_back = attempt(wired, job)
    assert causes(job.id)[-1] == "hand_back:budget"
    assert (handed_back.lifecycle_status, handed_back.retry_count) == ("queued", 1)
    seconds = (handed_back.available_at - midnight(zone)).total_seconds()
    assert 0 <= seconds <= 31  # with some jitter
    waits = me.get(f"/jobs/{job.id}").json["waitingFor"]
    assert waits["reason"] == "budget"
    assert waits["detail"].startswith("a budget is used up; due at ")
    assert len(books(job.id)) == len(server.calls) == 1
    day = {"jobs": 1, "tokensUsed": 0, "tokensReserved": held["tokens"], "tokensOverrun": 0}
    assert _today(me) == {**day, "costMicroUsd": 0}

    a_day_passes()
    assert attempt(wired, job).lifecycle_status == "succeeded"
    yesterday, today = sql("SELECT * FROM user_ai_usage_daily ORDER BY local_date")
    assert today["local_date"] == dt.datetime.now(ZoneInfo(zone)).date()
    assert yesterday["local_date"] == today["local_date"] - dt.timedelta(days=1)
    for row, jobs, used in ((yesterday, 1, sum(bound(server.calls[0]))), (today, 0, USED)):
        told = (row["jobs"], row["tokens_used"], row["tokens_reserved"], row["tokens_overrun"])
        assert told == (jobs, used, 0, 0)
    (month,) = sql("SELECT jobs, tokens_used AS used FROM user_ai_usage_monthly")
    assert (month["jobs"], month["used"]) == (1, yesterday["tokens_used"] + USED)
    (home,) = sql("SELECT user_date, settled_at IS NOT NULL AS settled FROM ai_job_reservation")
    assert home == {"user_date": today["local_date"], "settled": True}


def test_a_platform_over_its_budget_waits_for_midnight_in_utc(
    wired: World, server: ScriptedProvider, redis_client: redis.Redis
) -> None:
    me = caller(wired, wired.user_id, redis_client)
    me.put("/settings", {"timeZone": "Asia/Kolkata"})
    a_day_passes()
    job = wired.create()
    (held,) = sql("SELECT tokens FROM ai_job_reservation")
    tight = wired.engine.settings.model_copy(
        update={"platform_daily_tokens": held["tokens"] * 3 // 2}
    )
    short = replace(wired, engine=replace(wired.engine, settings=tight))
    server.enqueue("accept_then_reset")
    attempt(short, job)
    handed_back = attempt(short, job)
    assert causes(job.id)[-1] == "hand_back:budget"
    assert 0 <= (handed_back.available_at - midnight("UTC")).total_seconds() <= 31
    a_day_passes()
    assert attempt(short, job).lifecycle_status == "succeeded"
    used = [
        row["used"]
        for row in sql("SELECT tokens_used AS used FROM platform_usage_daily ORDER BY utc_date")
    ]
    assert used == [sum(bound(server.calls[0])), USED]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "Pacific/Pago_Pago"])
def test_a_month_that_is_used_up_says_when_the_next_one_begins(
    here: World, me: Caller, zone: str
) -> None:
    me.put("/settings", {"timeZone": zone})
    a_day_passes()
    sql("UPDATE user_ai_settings SET monthly_token_quota = 1")
    body = {"jobType": "quiz_generation", "targetType": "knowledge_base"}
    refused = me.post("/jobs", {**body, "targetId": str(here.base_id)})
    assert (refused.status_code, refused.json["code"]) == (429, "QUOTA_EXCEEDED")
    until = dt.datetime.fromisoformat(me.get("/usage").json["month"]["until"])
    left = (until - dt.datetime.now(dt.UTC)).total_seconds()
    assert abs(int(refused.headers["Retry-After"]) - left) < 60
