"""Scripted providers and the gateway that calls them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aijobs.engine.gateway import OpenAIProvider
from tests.integration.engine.wire import over_the_wire, route_to
from tests.scripted_provider import ScriptedProvider
from tests.world import World


@pytest.fixture
def server() -> Iterator[ScriptedProvider]:
    """A scripted provider."""
    with ScriptedProvider() as scripted:
        yield scripted


@pytest.fixture
def gateway() -> Iterator[OpenAIProvider]:
    """The production gateway."""
    provider = OpenAIProvider(5.0)
    yield provider
    provider.close()


@pytest.fixture
def wired(here: World, gateway: OpenAIProvider, server: ScriptedProvider) -> World:
    """A world whose jobs call the scripted provider."""
    return over_the_wire(here, gateway, route_to(server))
