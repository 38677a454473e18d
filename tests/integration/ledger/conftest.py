"""A world with many connections, whose limits a test sets; the API as its user sees it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aijobs.engine.gateway import OpenAIProvider
from tests.integration.engine.wire import over_the_wire, route_to
from tests.integration.http.conftest import me, redis_client, stranger
from tests.scripted_provider import ScriptedProvider
from tests.world import World, settings_for, world

__all__ = ["me", "redis_client", "stranger"]

#: So many that rivals meet in the database, and few enough for the run's server.
CONNECTIONS = 60


@pytest.fixture
def here(database_url: str, redis_url: str) -> Iterator[World]:
    """A user whose first request is still to come."""
    with world(settings_for(database_url, redis_url), connections=CONNECTIONS) as made:
        yield made


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
