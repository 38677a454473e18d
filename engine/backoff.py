"""When to try again: exponential, full jitter, capped; what the other side asked for is a lower
bound.

Source of the jitter: AWS Architecture Blog, "Exponential Backoff And Jitter" (2015), full jitter.
"""

from __future__ import annotations

import random

CAP_SECONDS = 600.0
RETRY_AFTER_CAP_SECONDS = 900.0


def backoff_seconds(
    base_seconds: float,
    retry_count: int,
    *,
    retry_after: float | None = None,
    draw: random.Random | None = None,
) -> float:
    """Seconds until the retry after `retry_count` earlier ones: uniform in [0, base x 2^n], <= 600.

    `retry_after` (seconds) is a lower bound, believed up to 15 minutes.
    """
    ceiling = min(CAP_SECONDS, base_seconds * 2.0 ** min(retry_count, 32))
    drawn = (draw or random).uniform(0.0, ceiling)
    asked = min(max(retry_after or 0.0, 0.0), RETRY_AFTER_CAP_SECONDS)
    return max(drawn, asked)
