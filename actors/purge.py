"""The purger: takes away what retention allows, in bounded batches, never a non-terminal job's
rows.
"""

from __future__ import annotations

from aijobs.models import database as db
from aijobs.models import retention

_BATCHES = 100


def purge() -> int:
    """One pass over every kind; the number of rows deleted."""
    return sum(_purge(kind) for kind in retention.KINDS)


def _purge(kind: str) -> int:
    total = 0
    for _ in range(_BATCHES):
        deleted = db.autocommit("purge", lambda: retention.delete_batch(kind))
        total += deleted
        if deleted < retention.BATCH:
            break
    return total
