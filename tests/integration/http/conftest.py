"""The API in this process as two users see it; `me` has the world's knowledge base."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
import redis

from tests.integration.http.caller import Caller, caller
from tests.integration.http.doors import Doors, doors_of
from tests.world import World


@pytest.fixture
def redis_client(redis_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture
def me(here: World, redis_client: redis.Redis) -> Caller:
    """The user of the world."""
    return caller(here, here.user_id, redis_client)


@pytest.fixture
def stranger(here: World, redis_client: redis.Redis) -> Caller:
    """Another user, who has nothing yet."""
    return caller(here, uuid4(), redis_client)


@pytest.fixture
def doors(me: Caller, here: World) -> Doors:
    """Route -> method, path and a body that it takes. What the paths name exists."""
    return doors_of(me, here)
