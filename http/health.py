"""/healthz says that the process lives, /readyz that it can work, and if not, why."""

from __future__ import annotations

from typing import Any

import falcon
import redis

from aijobs.models import database as db
from aijobs.models import migrate
from aijobs.models.errors import DatabaseAway


class Health:
    """/healthz."""

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        resp.media = {"status": "ok"}


class Readiness:
    """/readyz: database, broker, migrations."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        reasons = [*self._database(), *self._broker()]
        resp.status = falcon.HTTP_503 if reasons else falcon.HTTP_200
        resp.media = {"status": "unavailable" if reasons else "ready", "reasons": reasons}

    def _database(self) -> list[str]:
        try:
            pending = db.read(migrate.pending_here)
        except DatabaseAway:
            return ["the database does not answer"]
        return [f"migrations are pending: {', '.join(pending)}"] if pending else []

    def _broker(self) -> list[str]:
        try:
            self._client.ping()
        except redis.RedisError:
            return ["the broker does not answer"]
        return []


def add_routes(app: Any, client: redis.Redis) -> None:
    """The operations endpoints that need no token."""
    app.add_route("/healthz", Health())
    app.add_route("/readyz", Readiness(client))
