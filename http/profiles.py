"""/profile: what the user tells about themselves. What GET answers can be PUT as it is."""

from __future__ import annotations

import json
from typing import Annotated, Any

import falcon
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from aijobs.engine.refusal import Unfit
from aijobs.engine.sentence import Sentence
from aijobs.http.body import read_model
from aijobs.http.middleware import identity_of
from aijobs.models import database as db
from aijobs.models import learner, profiles
from aijobs.models.profiles import NewProfile
from aijobs.models.tables import LearnerProfile

#: The shape of a BCP 47 tag; 35 characters hold every one that is registered (RFC 5646, 4.4.1).
_LOCALE = r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$"
_PREFERENCES_DEPTH = 4
_PREFERENCES_BYTES = 4096


def _small(preferences: dict[str, Any]) -> dict[str, Any]:
    if _depth(preferences) > _PREFERENCES_DEPTH:
        raise Unfit(
            Sentence("at most {limit} levels of objects and lists", limit=_PREFERENCES_DEPTH)
        )
    if len(json.dumps(preferences, ensure_ascii=False).encode()) > _PREFERENCES_BYTES:
        raise Unfit(Sentence("at most {limit} bytes of JSON", limit=_PREFERENCES_BYTES))
    return preferences


def _depth(value: Any) -> int:
    if not isinstance(value, dict | list):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(_depth, inner), default=0)


class ProfileBody(BaseModel):
    """A profile in full: what is left out is not told any more."""

    model_config = ConfigDict(strict=True, extra="forbid", alias_generator=to_camel)

    goals: Annotated[str, Field(max_length=2000)] | None = None
    level: Annotated[str, Field(max_length=200)] | None = None
    locale: Annotated[str, Field(max_length=35, pattern=_LOCALE)] | None = None
    preferences: Annotated[dict[str, Any], AfterValidator(_small)] = {}
    display_name: (
        Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
        | None
    ) = None


class Profile:
    """/profile."""

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        user_id = identity_of(req).user_id
        profile = db.read(lambda: learner.profile_of(user_id))
        resp.media = _view(profile or LearnerProfile(preferences={}))

    def on_put(self, req: falcon.Request, resp: falcon.Response) -> None:
        body = read_model(req, ProfileBody)
        profiles.save(identity_of(req).user_id, NewProfile(**body.model_dump()))
        self.on_get(req, resp)

    def on_delete(self, req: falcon.Request, resp: falcon.Response) -> None:
        profiles.forget(identity_of(req).user_id)
        resp.status = falcon.HTTP_204


def add_routes(app: Any, prefix: str) -> None:
    """The one route."""
    app.add_route(f"{prefix}/profile", Profile())


def _view(profile: LearnerProfile) -> dict[str, Any]:
    return {
        "goals": profile.goals,
        "level": profile.level,
        "locale": profile.locale,
        "preferences": profile.preferences,
        "displayName": profile.display_name,
    }
