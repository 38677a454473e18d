"""A Redis that may throw messages away is told of, and nothing else is."""

from __future__ import annotations

import pytest
import redis
from structlog.testing import capture_logs

from aijobs.actors.eviction import warn_of_eviction
from tests.servers import OwnValkey


@pytest.mark.parametrize(
    ("memory", "policy", "told"),
    [
        ("0", "noeviction", []),
        ("0", "allkeys-lru", []),
        ("100mb", "noeviction", []),
        ("100mb", "allkeys-lru", ["allkeys-lru"]),
        ("100mb", "volatile-ttl", ["volatile-ttl"]),
    ],
)
def test_messages_may_vanish_only_with_a_ceiling_and_a_policy(
    own_valkey: OwnValkey, memory: str, policy: str, told: list[str]
) -> None:
    with redis.Redis.from_url(own_valkey.url) as client, capture_logs() as logs:
        client.config_set("maxmemory", memory)
        client.config_set("maxmemory-policy", policy)
        warn_of_eviction(client)
    assert [line["policy"] for line in logs if line["event"] == "redis_may_evict"] == told


def test_who_may_not_look_and_who_has_no_redis_goes_on(own_valkey: OwnValkey) -> None:
    with redis.Redis.from_url(own_valkey.url) as client, capture_logs() as logs:
        client.config_set("maxmemory", "100mb")
        client.config_set("maxmemory-policy", "allkeys-lru")
        client.acl_setuser("default", enabled=True, categories=["+@all"], commands=["-config"])
        with pytest.raises(redis.exceptions.NoPermissionError):
            client.config_get("maxmemory")
        warn_of_eviction(client)
        own_valkey.stop()
        warn_of_eviction(client)
    assert logs == []
