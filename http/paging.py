"""Keyset pages: an opaque cursor is the place of the last row seen; each row comes once."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

import falcon

from aijobs.engine.refusal import wrong_field
from aijobs.engine.sentence import Sentence
from aijobs.models.paging import Place

T = TypeVar("T")

DEFAULT_LIMIT = 20
MAX_LIMIT = 100
_SERIALS = range(1, 2**63)


@dataclass(frozen=True, slots=True)
class Window:
    """Which page is asked for."""

    limit: int
    after: Place | None

    def page(
        self, rows: list[Any], view: Callable[[Any], dict[str, Any]], *, by: str = "created_at"
    ) -> dict[str, Any]:
        """`{items, nextCursor}` of rows asked for with `limit + 1` and ordered `by` a time."""
        shown = rows[: self.limit]
        more = len(rows) > self.limit
        return {
            "items": [view(row) for row in shown],
            "nextCursor": _cursor(shown[-1], by) if more else None,
        }


def window_of(req: falcon.Request, key: Callable[[str], UUID | int] = UUID) -> Window:
    """The page that `limit` and `cursor` ask for; `key` reads the rows' ids. Raises Refused."""
    return Window(_limit(req.get_param("limit")), _place(req.get_param("cursor"), key))


def serial(text: str) -> int:
    """An id that the database has counted up. Raises ValueError."""
    number = int(text)
    if number not in _SERIALS:
        raise ValueError(text)
    return number


def uuid_param(req: falcon.Request, name: str, *, required: bool = False) -> UUID | None:
    """A UUID of the query. Raises Refused."""
    given = req.get_param(name)
    if given is None and not required:
        return None
    try:
        return UUID(given or "")
    except ValueError:
        raise wrong_field(name, Sentence("must be a UUID")) from None


def choice_param(req: falcon.Request, name: str, choices: tuple[str, ...]) -> str | None:
    """One of these words of the query. Raises Refused."""
    given = req.get_param(name)
    if given is not None and given not in choices:
        raise wrong_field(name, Sentence("must be one of {choices}", choices=choices))
    return given


def _limit(given: str | None) -> int:
    if given is None:
        return DEFAULT_LIMIT
    digits = given.isascii() and given.isdigit() and len(given) <= 3
    if not digits or not 1 <= int(given) <= MAX_LIMIT:
        message = Sentence("must be a whole number from 1 to {limit}", limit=MAX_LIMIT)
        raise wrong_field("limit", message)
    return int(given)


def _place(cursor: str | None, key: Callable[[str], UUID | int]) -> Place | None:
    if cursor is None:
        return None
    try:
        moment, _, row_id = base64.urlsafe_b64decode(cursor.encode()).decode().partition("|")
        at = dt.datetime.fromisoformat(moment)
        if at.tzinfo is None:
            raise ValueError(moment)
        return at.astimezone(dt.UTC), key(row_id)
    except (ValueError, OverflowError, binascii.Error):
        message = Sentence("must be the nextCursor of an earlier page")
        raise wrong_field("cursor", message) from None


def _cursor(row: Any, by: str) -> str:
    moment: dt.datetime = getattr(row, by)
    return base64.urlsafe_b64encode(f"{moment.isoformat()}|{row.id}".encode()).decode()
