"""GET /budget by hand: what the platform's key may spend, holds and has spent."""

from __future__ import annotations

import datetime as dt

from tests.integration.engine.wire import COSTS, TOLD, bound, dearest
from tests.integration.http.caller import Caller
from tests.integration.ledger.books import a_day_passes
from tests.integration.models.states import created
from tests.scripted_provider import ScriptedProvider
from tests.world import ROOM, World

NOTHING = {
    "jobs": 0,
    "tokensUsed": 0,
    "tokensReserved": 0,
    "tokensOverrun": 0,
    "costUsedMicroUsd": 0,
    "costReservedMicroUsd": 0,
    "costOverrunMicroUsd": 0,
}


def test_before_anything_was_spent_thirty_days_are_zeros(reader: Caller) -> None:
    budget = reader.get("/budget").json
    today = dt.datetime.now(dt.UTC).date()
    assert budget["tokenLimit"] == ROOM["platform_daily_tokens"]
    assert budget["costLimitMicroUsd"] == 500_000_000
    assert budget["until"] == f"{today + dt.timedelta(days=1)}T00:00:00Z"
    days = [str(today - dt.timedelta(days=ago)) for ago in range(30)]
    assert budget["days"] == [{"date": day, **NOTHING} for day in days]


def test_a_job_that_ran_yesterday_and_one_that_waits_today(
    wired: World, reader: Caller, server: ScriptedProvider
) -> None:
    wired.finish(wired.create())
    a_day_passes()
    wired.create()
    today, yesterday, *_ = reader.get("/budget").json["days"]
    del today["date"], yesterday["date"]
    tokens, cost = sum(bound(server.calls[0])), dearest(server.calls[0])
    held = {"tokensReserved": tokens, "costReservedMicroUsd": cost}
    assert today == {**NOTHING, "jobs": 1, **held}
    assert yesterday.pop("costUsedMicroUsd") in COSTS
    assert yesterday == {
        name: count
        for name, count in (NOTHING | {"jobs": 1, "tokensUsed": TOLD[0] + TOLD[2]}).items()
        if name != "costUsedMicroUsd"
    }


def test_a_users_own_key_is_not_the_platforms_money(wired: World, reader: Caller) -> None:
    created(wired, credential_mode="user_key")
    assert reader.get("/budget").json["days"][0]["jobs"] == 0
