"""/settings and /usage: the AI switch and the time zone, the limits, and what is used of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import falcon
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from aijobs.engine.engine import Engine
from aijobs.engine.limits import user_limits
from aijobs.engine.refusal import FieldFault, Refused, Unfit
from aijobs.engine.sentence import Sentence
from aijobs.engine.signals import Signals
from aijobs.http.body import read_model
from aijobs.http.middleware import identity_of
from aijobs.http.moments import moment
from aijobs.http.views import limits_view
from aijobs.models import database as db
from aijobs.models import users
from aijobs.models.users import Period, UnknownTimeZone, UserSettings


def _is_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # not there, not a name, a folder
        raise Unfit(Sentence("must be an IANA time zone, as Asia/Shanghai")) from None
    return name


class SettingsBody(BaseModel):
    """What becomes of the settings; what is left out stays as it is."""

    model_config = ConfigDict(strict=True, extra="forbid", alias_generator=to_camel)

    ai_enabled: bool | None = None
    time_zone: (
        Annotated[str, Field(min_length=1, max_length=64), AfterValidator(_is_zone)] | None
    ) = None


class UserSettingsResource:
    """/settings. Limits are shown; an administrator changes them."""

    def __init__(self, engine: Engine, signals: Signals) -> None:
        self._defaults = user_limits(engine.settings)
        self._signals = signals

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        user_id = identity_of(req).user_id
        resp.media = _settings_view(db.read(lambda: users.settings_of(user_id, self._defaults)))

    def on_put(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Switching AI off cancels all jobs of the user: the queued ones now, the rest soon."""
        body = read_model(req, SettingsBody)
        try:
            asked = users.change_settings(
                identity_of(req).user_id,
                self._defaults,
                ai_enabled=body.ai_enabled,
                time_zone=body.time_zone,
            )
        except UnknownTimeZone:
            fault = FieldFault("timeZone", Sentence("is not known here"))
            detail = Sentence("Some fields are not valid.")
            raise Refused("INVALID_REQUEST", detail, errors=(fault,)) from None
        for job_id in asked:
            self._signals.hint_cancel(job_id)
        if body.ai_enabled is False:
            self._signals.hint_outbox()
        self.on_get(req, resp)


class Usage:
    """/usage: today's and this month's, per kind of key."""

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        user_id = identity_of(req).user_id
        day, month = db.read(lambda: users.usage_of(user_id))
        resp.media = {"today": _period_view(day), "month": _period_view(month)}


def add_routes(app: Any, prefixes: Iterable[str], engine: Engine, signals: Signals) -> None:
    """Both routes."""
    settings, usage = UserSettingsResource(engine, signals), Usage()
    for prefix in prefixes:
        app.add_route(f"{prefix}/settings", settings)
        app.add_route(f"{prefix}/usage", usage)


def _settings_view(settings: UserSettings) -> dict[str, Any]:
    return {
        "aiEnabled": settings.ai_enabled,
        "timeZone": settings.time_zone,
        "nextTimeZone": settings.next_time_zone,
        "nextTimeZoneAt": moment(settings.next_time_zone_at),
        **limits_view(settings),
    }


def _period_view(period: Period) -> dict[str, Any]:
    return {
        "from": period.begins.isoformat(),
        "until": moment(period.ends_at),
        "items": [
            {
                "apiKeyMode": row["credential_mode"],
                "jobs": row["jobs"],
                "tokensUsed": row["tokens_used"],
                "tokensReserved": row["tokens_reserved"],
                "tokensOverrun": row["tokens_overrun"],
                "costMicroUsd": row["cost_used"],
            }
            for row in period.rows
        ],
    }
