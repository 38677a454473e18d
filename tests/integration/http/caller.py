"""A user of the API in this process: every answer is one of the whole application's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import falcon.testing
import redis

from aijobs.http.app import create_app
from aijobs.http.tokens import Role, issue
from tests.world import World

PREFIX = "/api/ai"
ADMIN_PREFIX = "/admin-api/ai"


@dataclass(frozen=True)
class Caller:
    """Requests with one person's token, to paths below a prefix."""

    client: falcon.testing.TestClient
    token: str
    prefix: str = PREFIX
    language: str | None = None

    def get(self, path: str, **params: Any) -> falcon.testing.Result:
        return self.ask("GET", path, params=params)

    def post(self, path: str, body: Any) -> falcon.testing.Result:
        return self.ask("POST", path, json=body)

    def put(self, path: str, body: Any) -> falcon.testing.Result:
        return self.ask("PUT", path, json=body)

    def delete(self, path: str) -> falcon.testing.Result:
        return self.ask("DELETE", path)

    def send(
        self, path: str, raw: bytes, content_type: str | None, **params: str
    ) -> falcon.testing.Result:
        """POST a file."""
        return self.ask("POST", path, body=raw, content_type=content_type, params=params)

    def pages(self, path: str, **params: Any) -> list[dict[str, Any]]:
        """Every item of a list, read page by page."""
        page = self.get(path, **params).json
        items: list[dict[str, Any]] = page["items"]
        while page["nextCursor"] is not None:
            page = self.get(path, **params, cursor=page["nextCursor"]).json
            items += page["items"]
        return items

    def ask(self, method: str, path: str, **more: Any) -> falcon.testing.Result:
        """Any request with this token, in this language."""
        headers = {"Authorization": f"Bearer {self.token}", **more.pop("headers", {})}
        if self.language is not None:
            headers["Accept-Language"] = self.language
        return self.client.simulate_request(method, f"{self.prefix}{path}", headers=headers, **more)


def caller(here: World, user_id: UUID, client: redis.Redis) -> Caller:
    """The API as this user sees it."""
    app = falcon.testing.TestClient(create_app(here.engine, client))
    return Caller(app, issue(here.engine.settings, user_id, "USER", 600))


def administrator(
    here: World, client: redis.Redis, role: Role = "SUPER_ADMIN", who: UUID | None = None
) -> Caller:
    """The admin API as somebody with this role sees it."""
    app = falcon.testing.TestClient(create_app(here.engine, client))
    token = issue(here.engine.settings, who or uuid4(), role, 600)
    return Caller(app, token, ADMIN_PREFIX)


def problem(answer: falcon.testing.Result) -> tuple[int, str, list[str]]:
    """Status, code and the fields at fault of an answer that refuses."""
    assert answer.headers["Content-Type"] == "application/problem+json", answer.text
    fields = [error["field"] for error in answer.json.get("errors", [])]
    return answer.status_code, answer.json["code"], fields
