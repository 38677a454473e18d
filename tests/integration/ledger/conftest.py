"""A world with many connections, whose limits a test sets; the API as its user sees it."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
import redis

from aijobs.engine.gateway import OpenAIProvider
from tests.integration.engine.wire import over_the_wire, route_to
from tests.integration.http.caller import Caller, caller
from tests.scripted_provider import ScriptedProvider
from tests.world import World, settings_for, world

#: So many that rivals meet in the database, and few enough for the run's server.
CONNECTIONS = 60


@pytest.fixture
def here(database_url: str, redis_url: str) -> Iterator[World]:
    """A user whose first request is still to come."""
    with world(settings_for(database_url, redis_url), connections=CONNECTIONS) as made:
        yield made


@pytest.fixture
def redis_client(redis_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture
def me(here: World, redis_client: redis.Redis) -> Caller:
    """The API in this process as the user of the world sees it."""
    return caller(here, here.user_id, redis_client)


@pytest.fixture
def stranger(here: World, redis_client: redis.Redis) -> Caller:
    """Another user, who has nothing yet."""
    return caller(here, uuid4(), redis_client)


@pytest.fixture
def server() -> Iterator[ScriptedProvider]:
    """A scripted provider."""
    with ScriptedProvider() as scripted:
        yield scripted


@pytest.fixture
def wired(here: World, server: ScriptedProvider) -> Iterator[World]:
    """A world whose jobs call the scripted provider."""
    gateway = OpenAIProvider(5.0)
    yield over_the_wire(here, gateway, route_to(server))
    gateway.close()
