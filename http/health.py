"""/healthz says that the process lives, /readyz that it can work, and if not, why."""

from __future__ import annotations

from typing import Any

import falcon
import redis

from aijobs.models import database as db
from aijobs.models import migrate
from aijobs.models.errors import DatabaseAway

_RABBIT_SECONDS = 1.0


class Health:
    """/healthz."""

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        resp.media = {"status": "ok"}


class Readiness:
    """/readyz: database, migrations, Redis, and RabbitMQ where that is the broker."""

    def __init__(self, client: redis.Redis, amqp_url: str | None) -> None:
        self._client = client
        self._amqp_url = amqp_url

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        reasons = [*self._database(), *self._redis(), *self._rabbit()]
        resp.status = falcon.HTTP_503 if reasons else falcon.HTTP_200
        resp.media = {"status": "unavailable" if reasons else "ready", "reasons": reasons}

    def _database(self) -> list[str]:
        try:
            pending = db.read(migrate.pending_here)
        except DatabaseAway:
            return ["the database does not answer"]
        return [f"migrations are pending: {', '.join(pending)}"] if pending else []

    def _redis(self) -> list[str]:
        try:
            self._client.ping()
        except redis.RedisError:
            return [f"{'Redis' if self._amqp_url else 'the broker'} does not answer"]
        return []

    def _rabbit(self) -> list[str]:
        if self._amqp_url is None or _rabbit_answers(self._amqp_url):
            return []
        return ["the broker does not answer"]


def _rabbit_answers(urls: str) -> bool:
    import pika  # an extra, which only those have who set AMQP_URL
    from pika.adapters.utils.connection_workflow import AMQPConnectorException

    nodes = [pika.URLParameters(url) for url in urls.split(";")]
    for node in nodes:
        node.socket_timeout = node.stack_timeout = _RABBIT_SECONDS
    try:
        pika.BlockingConnection(nodes).close()
    except (pika.exceptions.AMQPError, AMQPConnectorException, OSError):
        return False
    return True


def add_routes(app: Any, client: redis.Redis, amqp_url: str | None) -> None:
    """The operations endpoints that need no token."""
    app.add_route("/healthz", Health())
    app.add_route("/readyz", Readiness(client, amqp_url))
