"""POST /knowledge-bases/{id}/import: a whole file becomes points behind those that are there."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from aijobs.models import database as db
from aijobs.models import learner
from tests.integration.http.caller import Caller, problem
from tests.world import POINTS, World, whole_database

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
CSV = b"title,body,tags\nA,a,x;y\nB,b,\n"
MARKDOWN = b"# T\n\n## A\n\na\n\n## B\n\nb\n"
STREAM = "application/octet-stream"


@pytest.fixture
def path(here: World) -> str:
    return f"/knowledge-bases/{here.base_id}/import"


def _titles(here: World) -> list[str]:
    """The titles of the world's points by position."""
    found = db.read(lambda: learner.source_points(here.user_id, base_id=here.base_id))
    return [point["title"] for point in found]


@pytest.mark.parametrize(
    ("raw", "content_type", "query"),
    [
        (CSV, "text/csv", {}),
        (CSV, "Text/CSV; charset=utf-8; header=present", {}),
        (CSV, "text/csv", {"format": "csv"}),
        (CSV, STREAM, {"format": "csv"}),
        (CSV, "text/plain", {"format": "csv"}),
        (MARKDOWN, "text/markdown", {}),
        (MARKDOWN, 'text/markdown; charset="UTF-8"; variant=GFM', {}),
        (MARKDOWN, STREAM, {"format": "markdown"}),
    ],
)
def test_a_file_is_appended(
    me: Caller, here: World, path: str, raw: bytes, content_type: str, query: dict[str, str]
) -> None:
    answer = me.send(path, raw, content_type, **query)
    assert (answer.status_code, answer.json) == (201, {"imported": 2})
    assert _titles(here) == [title for title, _ in POINTS] + ["A", "B"]


def test_an_imported_point_is_like_any_other(me: Caller, here: World, path: str) -> None:
    me.send(path, CSV, "text/csv")
    newest = me.get(f"/knowledge-bases/{here.base_id}/points", limit=100).json["items"]
    (point,) = [item for item in newest if item["title"] == "A"]
    assert (point["body"], point["tags"], point["position"]) == ("a", ["x", "y"], 7)


@pytest.mark.parametrize(
    ("name", "content_type", "count"),
    [("us_history.csv", "text/csv", 20), ("photosynthesis_zh.md", "text/markdown", 12)],
)
def test_the_examples_come_through(
    me: Caller, here: World, path: str, name: str, content_type: str, count: int
) -> None:
    answer = me.send(path, (EXAMPLES / name).read_bytes(), content_type)
    assert (answer.status_code, answer.json) == (201, {"imported": count})
    assert len(_titles(here)) == len(POINTS) + count


def test_gb18030_is_read_when_it_is_said(me: Caller, here: World, path: str) -> None:
    raw = "title,body\n细胞核,内容\n".encode("gb18030")
    assert problem(me.send(path, raw, "text/csv"))[:2] == (400, "INVALID_REQUEST")
    assert me.send(path, raw, "text/csv; charset=GB18030").status_code == 201
    assert _titles(here)[-1] == "细胞核"


@pytest.mark.parametrize(
    ("raw", "content_type", "field"),
    [
        (b"", "text/csv", "line 1"),
        (b"", "text/markdown", "line 1"),
        (b"A,a\n", "text/csv", "line 1"),
        (CSV + b",c,\n", "text/csv", "line 4"),
        (CSV + b'"C,c\n', "text/csv", "line 4"),
        (CSV + b"C,c\x00,\n", "text/csv", "line 4"),
        (CSV + b"C,\xff,\n", "text/csv", "line 4"),
        (CSV + b"C," + b"c" * 20_001, "text/csv", "line 4"),
        (MARKDOWN + b"## C\n", "text/markdown", "line 10"),
        (MARKDOWN + b"## " + b"C" * 301 + b"\nc\n", "text/markdown", "line 10"),
        (b"title,body\n" + b"t,b\n" * 5001, "text/csv", "line 5002"),
        (b"a" * 10_000_000, "text/csv", "line 1"),
        (b"a" * 10_000_000, "text/markdown", "line 1"),
    ],
    ids=[
        "empty csv",
        "empty markdown",
        "no header",
        "no title",
        "open quote",
        "nul",
        "not utf-8",
        "long text",
        "no text",
        "long title",
        "too many",
        "one line of csv",
        "one line of markdown",
    ],
)
def test_a_fault_names_its_line_and_nothing_is_stored(
    me: Caller, path: str, raw: bytes, content_type: str, field: str
) -> None:
    before = whole_database()
    assert problem(me.send(path, raw, content_type)) == (400, "INVALID_REQUEST", [field])
    assert whole_database() == before


def test_five_thousand_points_of_ten_megabytes_come_through(
    me: Caller, here: World, path: str
) -> None:
    rows = b"".join(b"t%d,%s\n" % (number, b"x" * 1985) for number in range(5000))
    raw = b"title,body\n" + rows
    assert 9_900_000 < len(raw) <= 10_000_000
    assert me.send(path, raw, "text/csv").json == {"imported": 5000}
    assert me.get(f"/knowledge-bases/{here.base_id}/points").json["items"][0]["position"] > 5000


def test_more_than_ten_megabytes_are_too_large(me: Caller, path: str) -> None:
    answer = me.send(path, b"a" * 10_000_001, "text/csv")
    assert problem(answer) == (413, "PAYLOAD_TOO_LARGE", [])


@pytest.mark.parametrize(
    ("content_type", "query"),
    [
        ("application/json", {}),
        ("application/json", {"format": "csv"}),
        (STREAM, {}),
        (None, {}),
        ("text/csv", {"format": "markdown"}),
        ("text/plain", {}),
    ],
)
def test_the_format_must_be_told(
    me: Caller, path: str, content_type: str | None, query: dict[str, str]
) -> None:
    answer = me.send(path, CSV, content_type, **query)
    assert problem(answer) == (415, "UNSUPPORTED_MEDIA_TYPE", [])


def test_an_unknown_format_is_refused(me: Caller, path: str) -> None:
    answer = me.send(path, CSV, STREAM, format="docx")
    assert problem(answer) == (400, "INVALID_REQUEST", ["format"])


def test_another_users_knowledge_base_is_not_there(
    me: Caller, stranger: Caller, here: World, path: str
) -> None:
    assert problem(stranger.send(path, CSV, "text/csv")) == (404, "NOT_FOUND", [])
    nowhere = f"/knowledge-bases/{uuid4()}/import"
    assert problem(me.send(nowhere, CSV, "text/csv")) == (404, "NOT_FOUND", [])
    assert len(_titles(here)) == len(POINTS)
