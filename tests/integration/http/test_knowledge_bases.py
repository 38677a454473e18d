"""/knowledge-bases and their points: what a user writes is there as it was, until deleted."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from tests.integration.http.caller import Caller, problem
from tests.world import POINTS, World, whole_database


def _path(here: World) -> str:
    return f"/knowledge-bases/{here.base_id}"


def _points(me: Caller, here: World) -> list[dict[str, Any]]:
    """By position."""
    found = me.pages(f"{_path(here)}/points", limit=100)
    return sorted(found, key=lambda point: point["position"])


def test_a_base_is_made_shown_renamed_and_deleted(me: Caller) -> None:
    made = me.post("/knowledge-bases", {"title": " 细胞 <b> "})
    assert made.status_code == 201
    base = made.json
    assert base == {"id": base["id"], "title": " 细胞 <b> ", "createdAt": base["createdAt"]}
    path = f"/knowledge-bases/{base['id']}"
    assert made.headers["Location"] == f"/api/ai{path}"
    assert me.get(path).json == base
    renamed = me.put(path, {"title": "Cells"})
    assert (renamed.status_code, renamed.json) == (200, {**base, "title": "Cells"})
    assert base["id"] in [item["id"] for item in me.get("/knowledge-bases").json["items"]]
    assert (me.delete(path).status_code, me.delete(path).status_code) == (204, 404)
    for answer in (me.get(path), me.put(path, {"title": "x"}), me.get(f"{path}/points")):
        assert problem(answer) == (404, "NOT_FOUND", [])


def test_points_are_appended_in_their_order(me: Caller, here: World) -> None:
    new = [{"title": f"t{n}", "body": f"b{n}", "tags": ["x", "字"]} for n in range(3)]
    answer = me.post(f"{_path(here)}/points", {"points": new})
    assert answer.status_code == 201
    items = answer.json["items"]
    assert [item["position"] for item in items] == [7, 8, 9]
    for wanted, item in zip(new, items, strict=True):
        assert item == {
            **wanted,
            "id": item["id"],
            "knowledgeBaseId": str(here.base_id),
            "position": item["position"],
            "createdAt": item["createdAt"],
        }
    me.post(f"{_path(here)}/points", {"points": [{"title": "last", "body": "b"}]})
    titles = [point["title"] for point in _points(me, here)]
    assert titles == [title for title, _ in POINTS] + ["t0", "t1", "t2", "last"]
    assert _points(me, here)[-1]["tags"] == []


def test_a_point_is_shown_changed_and_deleted(me: Caller, here: World) -> None:
    first, *rest = _points(me, here)
    path = f"{_path(here)}/points/{first['id']}"
    assert me.get(path).json == first
    changed = me.put(path, {"title": "New", "body": "Other.", "tags": ["a"]})
    assert changed.status_code == 200
    assert changed.json == {**first, "title": "New", "body": "Other.", "tags": ["a"]}
    assert me.put(path, {"title": "New", "body": "Other."}).json["tags"] == []
    assert me.delete(path).status_code == 204
    point = {"title": "t", "body": "b"}
    for answer in (me.get(path), me.put(path, point), me.delete(path)):
        assert problem(answer) == (404, "NOT_FOUND", [])
    assert _points(me, here) == rest


@pytest.mark.parametrize(
    ("point", "field"),
    [
        ({"body": "b"}, "title"),
        ({"title": "", "body": "b"}, "title"),
        ({"title": "\u3000 ", "body": "b"}, "title"),
        ({"title": "x" * 301, "body": "b"}, "title"),
        ({"title": "t"}, "body"),
        ({"title": "t", "body": ""}, "body"),
        ({"title": "t", "body": "x" * 20_001}, "body"),
        ({"title": "t", "body": None}, "body"),
        ({"title": "t", "body": "b", "tags": "x"}, "tags"),
        ({"title": "t", "body": "b", "tags": ["x"] * 21}, "tags"),
        ({"title": "t", "body": "b", "tags": [""]}, "tags.0"),
        ({"title": "t", "body": "b", "tags": ["x" * 61]}, "tags.0"),
        ({"title": "t", "body": "b", "position": 1}, "position"),
    ],
)
def test_one_point_that_does_not_fit_stores_none(
    me: Caller, here: World, point: dict[str, Any], field: str
) -> None:
    good = {"title": "t", "body": "b"}
    existing = _points(me, here)[0]["id"]
    before = whole_database()
    refused = me.post(f"{_path(here)}/points", {"points": [good, point]})
    assert problem(refused) == (400, "INVALID_REQUEST", [f"points.1.{field}"])
    refused = me.put(f"{_path(here)}/points/{existing}", point)
    assert problem(refused) == (400, "INVALID_REQUEST", [field])
    assert whole_database() == before


def test_one_to_five_hundred_points_at_once(me: Caller, here: World) -> None:
    point = {"title": "x" * 300, "body": "b", "tags": ["y" * 60] * 20}
    plain = {"title": "t", "body": "b"}
    for count in (0, 501):
        answer = me.post(f"{_path(here)}/points", {"points": [plain] * count})
        assert problem(answer) == (400, "INVALID_REQUEST", ["points"])
    assert len(_points(me, here)) == 6
    assert me.post(f"{_path(here)}/points", {"points": [plain] * 500}).status_code == 201
    assert me.post(f"{_path(here)}/points", {"points": [point]}).status_code == 201
    longest = {"title": "t", "body": "字" * 20_000}
    assert me.post(f"{_path(here)}/points", {"points": [longest]}).status_code == 201
    assert [point["position"] for point in _points(me, here)] == list(range(1, 509))


@pytest.mark.parametrize("title", ["", " ", "\n\t", "x" * 301, None, 1, ["x"]])
def test_a_title_says_something(me: Caller, here: World, title: Any) -> None:
    before = whole_database()
    for answer in (
        me.post("/knowledge-bases", {"title": title}),
        me.put(_path(here), {"title": title}),
    ):
        assert problem(answer) == (400, "INVALID_REQUEST", ["title"])
    assert whole_database() == before
    assert me.post("/knowledge-bases", {"title": "x" * 300}).status_code == 201


def test_a_base_goes_with_all_that_is_in_it_and_its_jobs_stay(me: Caller, here: World) -> None:
    here.finish(here.create())
    here.finish(here.create("flashcard_generation"))
    point = _points(me, here)[0]["id"]
    record = {"knowledgePointId": point, "activity": "quiz", "at": "2026-03-01T00:00:00Z"}
    assert me.post("/study-records", {"records": [record]}).status_code == 201
    assert me.delete(_path(here)).status_code == 204
    for table in ("knowledge_point", "study_record", "quiz_question", "flashcard"):
        assert whole_database()[table] == []
    jobs = me.get("/jobs").json["items"]
    assert [job["lifecycleStatus"] for job in jobs] == ["succeeded"] * 2
    for job in jobs:
        result = me.get(f"/jobs/{job['jobId']}/result")
        assert result.status_code == 200, result.text
    for path in ("/quizzes", "/flashcards"):
        answer = me.get(path, knowledgeBaseId=str(here.base_id))
        assert problem(answer) == (404, "NOT_FOUND", [])


def test_an_unknown_base_takes_nothing(me: Caller) -> None:
    before = whole_database()
    path = f"/knowledge-bases/{uuid4()}"
    point = {"title": "t", "body": "b"}
    for answer in (
        me.put(path, {"title": "x"}),
        me.delete(path),
        me.post(f"{path}/points", {"points": [point]}),
        me.put(f"{path}/points/{uuid4()}", point),
    ):
        assert problem(answer) == (404, "NOT_FOUND", [])
    assert whole_database() == before
