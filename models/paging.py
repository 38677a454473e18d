"""Keyset pages: rows by (a time, id) descending, beyond a place, whatever is inserted meanwhile."""

from __future__ import annotations

import datetime as dt
from typing import Any
from uuid import UUID

from aijobs.models.tables import Table

#: The time that rows are ordered by, and the id, of the last row seen.
Place = tuple[dt.datetime, UUID | int]


def newest_first(
    query: Any, table: type[Table], after: Place | None, limit: int, *, by: str = "created_at"
) -> list[Any]:
    """Up to `limit` rows of a query over `table`, newest first, beyond `after`."""
    time, key = table._meta.fields[by], table._meta.fields["id"]
    if after is not None:
        moment, last_id = after
        query = query.where((time < moment) | ((time == moment) & (key < last_id)))
    return list(query.order_by(time.desc(), key.desc()).limit(limit))
