"""Who changed what of the platform, and what it was before.

Invariant: a change and its row are one transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aijobs.models.paging import Place, newest_first
from aijobs.models.tables import AdminAudit


def record(
    who: str, what: str, target: str, *, before: Mapping[str, Any], after: Mapping[str, Any]
) -> None:
    """Note a change, in the caller's transaction."""
    AdminAudit.insert(
        who=who, what=what, target=target, before=dict(before), after=dict(after)
    ).execute()


def page(
    *, after: Place | None, limit: int, what: str | None = None, target: str | None = None
) -> list[AdminAudit]:
    """Changes, newest first: all of them, or those of one kind, of one thing."""
    query = AdminAudit.select()
    if what is not None:
        query = query.where(AdminAudit.what == what)
    if target is not None:
        query = query.where(AdminAudit.target == target)
    return newest_first(query, AdminAudit, after, limit, by="at")
