"""Users' own keys on a wire that leads to a scripted provider instead of the internet."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from aijobs.engine.chat import ChatRequest, Reply, Route
from aijobs.engine.cut import Cut
from aijobs.engine.gateway import OpenAIProvider
from aijobs.models import database as db
from aijobs.models.tables import UserModelCredential
from tests.integration.http.caller import Caller
from tests.scripted_provider import ScriptedProvider
from tests.world import World

#: No known shape of a key, so that only its being the call's key can give it away.
KEY = "canary0123456789abcdef"


@dataclass
class Detour:
    """The gateway, but for where it connects to; `routes` are those that it was given."""

    inner: OpenAIProvider
    server: ScriptedProvider
    routes: list[Route] = field(default_factory=list)

    def complete(self, route: Route, request: ChatRequest, cut: Cut) -> Reply:
        self.routes.append(route)
        here = replace(route, base_url=self.server.base_url, public_only=False)
        return self.inner.complete(here, request, cut)


def detoured(here: World, gateway: Any) -> World:
    """The same world with another gateway for users' own keys."""
    return replace(here, engine=replace(here.engine, gateway=gateway))


def add_key(who: Caller, key: str = KEY, **more: Any) -> UUID:
    """POST /model-credentials; the id."""
    answer = who.post("/model-credentials", {"provider": "deepseek", "apiKey": key, **more})
    assert answer.status_code == 201, answer.text
    return UUID(answer.json["id"])


def row_of(credential_id: UUID) -> UserModelCredential:
    """The row as it is now, deleted or not."""
    return db.read(lambda: UserModelCredential.get_by_id(credential_id))


def keys_received(server: ScriptedProvider) -> list[str]:
    """The bearer token of each call, in order."""
    return [call.headers["Authorization"].removeprefix("Bearer ") for call in server.calls]
