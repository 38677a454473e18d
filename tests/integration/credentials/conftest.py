"""Users with keys of their own, in a world whose gateway leads to a scripted provider."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
import redis

from aijobs.engine.gateway import OpenAIProvider
from tests.integration.credentials.detour import Detour, detoured
from tests.integration.http.caller import Caller, caller
from tests.scripted_provider import ScriptedProvider
from tests.world import World


@pytest.fixture
def redis_client(redis_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture
def server() -> Iterator[ScriptedProvider]:
    """A scripted provider."""
    with ScriptedProvider() as scripted:
        yield scripted


@pytest.fixture
def detour(server: ScriptedProvider) -> Iterator[Detour]:
    """The production gateway on its way to the scripted provider."""
    gateway = OpenAIProvider(5.0)
    yield Detour(gateway, server)
    gateway.close()


@pytest.fixture
def wired(here: World, detour: Detour) -> World:
    """A world whose users' own keys go to the scripted provider."""
    return detoured(here, detour)


@pytest.fixture
def me(wired: World, redis_client: redis.Redis) -> Caller:
    """The user of the world."""
    return caller(wired, wired.user_id, redis_client)


@pytest.fixture
def stranger(wired: World, redis_client: redis.Redis) -> Caller:
    """Another user."""
    return caller(wired, uuid4(), redis_client)
