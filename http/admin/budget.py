"""/budget: what the platform's key may spend in a UTC day, and what it has spent."""

from __future__ import annotations

import datetime as dt
from typing import Any

import falcon

from aijobs.engine.engine import Engine
from aijobs.engine.limits import platform_budget
from aijobs.http.moments import moment
from aijobs.models import database as db
from aijobs.models import ledger

_DAYS = 30


class PlatformBudget:
    """Today is the first of the days. Money is in millionths of a US dollar."""

    def __init__(self, engine: Engine) -> None:
        self._budget = platform_budget(engine.settings)

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        days = db.read(lambda: ledger.platform_days(_DAYS))
        ends_on = days[0]["utc_date"] + dt.timedelta(days=1)
        resp.media = {
            "tokenLimit": self._budget.tokens,
            "costLimitMicroUsd": self._budget.cost_micro_usd,
            "until": moment(dt.datetime.combine(ends_on, dt.time(), dt.UTC)),
            "days": [_day_view(day) for day in days],
        }


def _day_view(day: dict[str, Any]) -> dict[str, Any]:
    return {
        "date": day["utc_date"].isoformat(),
        "jobs": day["jobs"],
        "tokensUsed": day["tokens_used"],
        "tokensReserved": day["tokens_reserved"],
        "tokensOverrun": day["tokens_overrun"],
        "costUsedMicroUsd": day["cost_used"],
        "costReservedMicroUsd": day["cost_reserved"],
        "costOverrunMicroUsd": day["cost_overrun"],
    }
