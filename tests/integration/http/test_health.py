"""/healthz says that the process lives, /readyz that it can work, and if not, why."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import falcon.testing
import pytest
import redis

from aijobs.engine.engine import build_engine
from aijobs.http.app import create_app
from aijobs.http.tokens import issue
from aijobs.models import database as db
from aijobs.models import migrate
from aijobs.models.sql import functions
from tests.world import settings_for

NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"
NO_REDIS = "redis://127.0.0.1:1/0"
NO_RABBIT = "amqp://127.0.0.1:1/"


@pytest.fixture(autouse=True)
def _disconnected() -> Iterator[None]:
    yield
    db.disconnect()


def _ask(
    database_url: str, redis_url: str, path: str = "/readyz", **settings: Any
) -> tuple[int, Any]:
    db.connect_to(database_url, connections=2)
    with redis.Redis.from_url(redis_url, retry=None) as client:
        engine = build_engine(settings_for(database_url, redis_url, **settings))
        app = create_app(engine, client)
        answer = falcon.testing.TestClient(app).simulate_get(path)
    return answer.status_code, answer.json


def test_a_process_lives_without_anything(redis_url: str) -> None:
    assert _ask(NOWHERE, NO_REDIS, "/healthz") == (200, {"status": "ok"})


def test_it_is_ready_with_everything(database_url: str, redis_url: str) -> None:
    assert _ask(database_url, redis_url) == (200, {"status": "ready", "reasons": []})


def test_migrations_that_are_pending_are_named(empty_database_url: str, redis_url: str) -> None:
    names = sorted(path.stem for path in migrate.MIGRATIONS.glob("[0-9]*.py"))
    names += [function.name for function in functions.every()]
    told = f"migrations are pending: {', '.join(names)}"
    expected = (503, {"status": "unavailable", "reasons": [told]})
    assert _ask(empty_database_url, redis_url) == expected
    migrate.run(empty_database_url)
    assert _ask(empty_database_url, redis_url)[0] == 200


def test_a_function_that_only_newer_code_has_is_named(database_url: str, redis_url: str) -> None:
    """A database that the previous version migrated."""
    name = functions.every()[0].name
    db.connect_to(database_url, connections=2)
    db.read(lambda: db.rows(f"DROP FUNCTION {name}"))
    told = {"status": "unavailable", "reasons": [f"migrations are pending: {name}"]}
    assert _ask(database_url, redis_url) == (503, told)
    migrate.run(database_url)
    assert _ask(database_url, redis_url)[0] == 200


def test_a_database_that_is_away_is_told(redis_url: str) -> None:
    told = {"status": "unavailable", "reasons": ["the database does not answer"]}
    assert _ask(NOWHERE, redis_url) == (503, told)


def test_a_broker_that_is_away_is_told(database_url: str) -> None:
    told = {"status": "unavailable", "reasons": ["the broker does not answer"]}
    assert _ask(database_url, NO_REDIS) == (503, told)


def test_rabbitmq_is_asked_where_it_is_the_broker(
    database_url: str, redis_url: str, amqp_url: str
) -> None:
    ready = (200, {"status": "ready", "reasons": []})
    assert _ask(database_url, redis_url, amqp_url=amqp_url) == ready
    assert _ask(database_url, redis_url, amqp_url=f"{NO_RABBIT};{amqp_url}") == ready


@pytest.mark.parametrize("place", ["127.0.0.1:1", "broker.invalid"])
def test_a_rabbitmq_that_is_away_is_told(database_url: str, redis_url: str, place: str) -> None:
    told = {"status": "unavailable", "reasons": ["the broker does not answer"]}
    assert _ask(database_url, redis_url, amqp_url=f"amqp://{place}/") == (503, told)


def test_a_rabbitmq_that_is_silent_is_not_waited_for(database_url: str, redis_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"amqp://127.0.0.1:{silent.getsockname()[1]}/"
        assert _ask(database_url, redis_url, amqp_url=url)[0] == 503


def test_redis_is_needed_beside_rabbitmq(database_url: str, amqp_url: str) -> None:
    told = {"status": "unavailable", "reasons": ["Redis does not answer"]}
    assert _ask(database_url, NO_REDIS, amqp_url=amqp_url) == (503, told)


def test_all_that_is_away_is_told() -> None:
    status, body = _ask(NOWHERE, NO_REDIS, amqp_url=NO_RABBIT)
    assert (status, len(body["reasons"])) == (503, 3)


def test_a_request_without_a_database_is_to_be_tried_again(redis_url: str) -> None:
    settings = settings_for(NOWHERE, redis_url)
    db.connect_to(NOWHERE, connections=2)
    with redis.Redis.from_url(redis_url) as client:
        app = falcon.testing.TestClient(create_app(build_engine(settings), client))
        headers = {"Authorization": f"Bearer {issue(settings, uuid4(), 'USER', 60)}"}
        answer = app.simulate_get("/api/ai/jobs", headers=headers)
    assert (answer.status_code, answer.json["code"]) == (503, "PLATFORM_UNAVAILABLE")
    assert answer.json["retryable"] is True
    assert int(answer.headers["Retry-After"]) > 0
    assert "127.0.0.1" not in answer.text
