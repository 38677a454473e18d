"""A Redis that may throw messages away under memory pressure is told of: their jobs would wait for
the sweep, and nobody would know why.
"""

from __future__ import annotations

import redis
import structlog

log = structlog.get_logger()


def warn_of_eviction(client: redis.Redis) -> None:
    """Say so when messages may vanish. Who may not look at Redis' settings says nothing."""
    try:
        found = client.config_get("maxmemory", "maxmemory-policy")
    except redis.RedisError:
        return
    if found.get("maxmemory") != "0" and found.get("maxmemory-policy") != "noeviction":
        log.warning("redis_may_evict", policy=found.get("maxmemory-policy"), set_it_to="noeviction")
