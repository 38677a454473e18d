"""The Retry-After header: how long the other side asks us to stay away.

Invariant: a number of seconds from 0 to 15 minutes, or nothing; never an error.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_LONGEST_SECONDS = 900.0


def retry_after(header: str | None, now: datetime) -> float | None:
    """Seconds, given as a number or as an HTTP date (RFC 9110, 10.2.3). None for anything else."""
    text = (header or "").strip()
    seconds = (
        float(text) if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,6})?", text) else _until(text, now)
    )
    return None if seconds is None else min(max(seconds, 0.0), _LONGEST_SECONDS)


def _until(text: str, now: datetime) -> float | None:
    try:
        then = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return (then - now).total_seconds()
