"""The admin API in this process, over a world whose jobs call a scripted provider."""

from __future__ import annotations

from uuid import UUID

import pytest
import redis

from tests.integration.engine.conftest import gateway, server, wired
from tests.integration.http.caller import Caller, administrator, caller
from tests.world import World

__all__ = ["gateway", "server", "wired"]

#: Who changes things in these tests.
CHIEF = UUID("0199d3a2-7c41-7a50-8f0e-3b5a86c1d2e4")


@pytest.fixture
def admin(wired: World, redis_client: redis.Redis) -> Caller:
    """Somebody who may change things."""
    return administrator(wired, redis_client, who=CHIEF)


@pytest.fixture
def reader(wired: World, redis_client: redis.Redis) -> Caller:
    """Somebody who may only read."""
    return administrator(wired, redis_client, "ADMIN")


@pytest.fixture
def me(wired: World, redis_client: redis.Redis) -> Caller:
    """The user of the world."""
    return caller(wired, wired.user_id, redis_client)
