"""Times on the wire: ISO 8601 in UTC."""

from __future__ import annotations

import datetime as dt


def moment(value: dt.datetime | None) -> str | None:
    """`2026-11-29T14:02:03.123456Z`."""
    return None if value is None else value.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")
