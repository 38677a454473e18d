"""Keyset pages: rows by (created_at, id) descending, beyond a place, whatever is inserted
meanwhile.
"""

from __future__ import annotations

import datetime as dt
from typing import Any
from uuid import UUID

from aijobs.models.tables import Table

#: The (created_at, id) of the last row seen.
Place = tuple[dt.datetime, UUID]


def newest_first(query: Any, table: type[Table], after: Place | None, limit: int) -> list[Any]:
    """Up to `limit` rows of a query over `table`, newest first, beyond `after`."""
    created_at, key = table._meta.fields["created_at"], table._meta.fields["id"]
    if after is not None:
        moment, last_id = after
        query = query.where((created_at < moment) | ((created_at == moment) & (key < last_id)))
    return list(query.order_by(created_at.desc(), key.desc()).limit(limit))
