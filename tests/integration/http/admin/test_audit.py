"""GET /audit: pages, newest first, each row once; by kind and by target."""

from __future__ import annotations

import base64

import pytest

from tests.integration.engine.seen import rows
from tests.integration.http.caller import Caller, problem

CHANGES = 45


def _changes(count: int, *, seconds_apart: float) -> None:
    rows(
        "INSERT INTO admin_audit (who, what, target, at) "
        "SELECT 'test', 'kind.' || mod(n, 3), 'thing/' || mod(n, 5), "
        "       now() - (%(count)s - n) * %(apart)s * interval '1 second' "
        "FROM generate_series(1, %(count)s) n",
        count=count,
        apart=seconds_apart,
    )


@pytest.mark.parametrize("seconds_apart", [0.0, 1.0])
def test_every_row_comes_once_newest_first(reader: Caller, seconds_apart: float) -> None:
    _changes(CHANGES, seconds_apart=seconds_apart)
    first = reader.get("/audit", limit=10).json
    _changes(3, seconds_apart=-1)  # made meanwhile
    items, cursor = first["items"], first["nextCursor"]
    while cursor is not None:
        page = reader.get("/audit", limit=10, cursor=cursor).json
        items, cursor = items + page["items"], page["nextCursor"]
    found = [int(item["id"]) for item in items]
    assert found == sorted(found, reverse=True)
    assert len(found) == CHANGES


def test_by_kind_and_by_target(reader: Caller) -> None:
    _changes(30, seconds_apart=1)
    assert {item["what"] for item in reader.pages("/audit", what="kind.1")} == {"kind.1"}
    both = reader.pages("/audit", what="kind.1", target="thing/2")
    assert len(both) == 2  # of 30, n = 1 mod 3 and 2 mod 5: 7 and 22
    assert reader.get("/audit", target="nothing").json == {"items": [], "nextCursor": None}


def test_a_change_without_before_and_after_is_shown(reader: Caller) -> None:
    _changes(1, seconds_apart=0)
    [item] = reader.get("/audit").json["items"]
    assert (item["before"], item["after"]) == ({}, {})


@pytest.mark.parametrize("row_id", ["x", "", "-1", "0", str(2**63), "9" * 5000])
def test_a_cursor_of_no_page_is_refused(reader: Caller, row_id: str) -> None:
    cursor = base64.urlsafe_b64encode(f"2026-11-29T00:00:00+00:00|{row_id}".encode()).decode()
    assert problem(reader.get("/audit", cursor=cursor)) == (400, "INVALID_REQUEST", ["cursor"])
