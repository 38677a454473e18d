"""/users/{id}/limits: what a user may ask for; a user who has never asked has the defaults."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

import falcon
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from aijobs.engine.engine import Engine
from aijobs.engine.limits import user_limits
from aijobs.engine.signals import Signals
from aijobs.http.body import read_model
from aijobs.http.middleware import administrator_of
from aijobs.http.views import limits_view
from aijobs.models import database as db
from aijobs.models import user_limits as stored
from aijobs.models import users

Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
Tokens = Annotated[int, Field(ge=0, le=10**15)]
_LEFT_OUT: Any = Field(default=None)  # null is not among what these fields may be given


class LimitsBody(BaseModel):
    """What becomes of the limits; what is left out stays as it is, and no quota is null."""

    model_config = ConfigDict(strict=True, extra="forbid", alias_generator=to_camel)

    max_daily_ai_jobs: Count = _LEFT_OUT
    max_daily_token_budget: Tokens = _LEFT_OUT
    monthly_token_quota: Tokens | None = None
    max_active_jobs: Count = _LEFT_OUT


class Limits:
    """The limits of one user."""

    def __init__(self, engine: Engine, signals: Signals) -> None:
        self._defaults = user_limits(engine.settings)
        self._signals = signals

    def on_get(self, req: falcon.Request, resp: falcon.Response, user_id: UUID) -> None:
        found = db.read(lambda: users.settings_of(user_id, self._defaults))
        resp.media = {"userId": str(user_id), **limits_view(found)}

    def on_put(self, req: falcon.Request, resp: falcon.Response, user_id: UUID) -> None:
        limits = read_model(req, LimitsBody).model_dump(exclude_unset=True)
        changed = stored.change(user_id, self._defaults, limits, who=administrator_of(req))
        self._signals.hint_outbox()
        resp.media = {"userId": str(user_id), **limits_view(changed)}
