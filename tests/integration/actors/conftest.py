"""A broker on the run's Redis, emptied for each test, and bells that tell when somebody waits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from aijobs.actors.bells import Bells
from aijobs.actors.broker import WakingBroker


@pytest.fixture
def broker(redis_url: str) -> Iterator[WakingBroker]:
    """A broker without workers and without middleware."""
    made = WakingBroker(redis_url, [], Bells())
    yield made
    made.close()
    made.client.close()


@pytest.fixture
def client(redis_url: str) -> Iterator[redis.Redis]:
    """Redis beside the broker, as another process sees it."""
    with redis.Redis.from_url(redis_url) as made:
        yield made
