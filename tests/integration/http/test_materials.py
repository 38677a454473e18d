"""/materials: a user's longer texts, alone or in a knowledge base, and nobody else's."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from tests.integration.http.caller import Caller, problem
from tests.world import World, whole_database

TEXT = {"title": "Chapter 1", "body": "The cell is the unit of life."}


def _add(me: Caller, **more: Any) -> dict[str, Any]:
    answer = me.post("/materials", {**TEXT, **more})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json
    return made


def test_a_material_is_created_and_found(me: Caller, here: World) -> None:
    answer = me.post("/materials", {**TEXT, "knowledgeBaseId": str(here.base_id)})
    assert answer.status_code == 201
    made = answer.json
    assert answer.headers["Location"] == f"/api/ai/materials/{made['id']}"
    assert {**made, "id": 0, "createdAt": 0} == {
        **TEXT,
        "id": 0,
        "knowledgeBaseId": str(here.base_id),
        "createdAt": 0,
    }
    assert me.get(f"/materials/{made['id']}").json == made


def test_a_material_needs_no_knowledge_base(me: Caller) -> None:
    assert "knowledgeBaseId" not in _add(me)


def test_the_list_tells_lengths_instead_of_texts(me: Caller) -> None:
    made = _add(me, body="细胞🧬")
    line = {"id": made["id"], "title": TEXT["title"], "length": 3, "createdAt": made["createdAt"]}
    assert me.get("/materials").json == {"items": [line], "nextCursor": None}


def test_pages_hold_each_material_once_newest_first(me: Caller) -> None:
    made = [_add(me, title=f"t{number}")["id"] for number in range(5)]
    first = me.get("/materials", limit=2).json
    _add(me, title="meanwhile")
    second = me.get("/materials", limit=2, cursor=first["nextCursor"]).json
    third = me.get("/materials", limit=2, cursor=second["nextCursor"]).json
    assert third["nextCursor"] is None
    seen = [item["id"] for page in (first, second, third) for item in page["items"]]
    assert seen == made[::-1]


def test_the_list_can_be_of_one_knowledge_base(me: Caller, here: World) -> None:
    _add(me)
    inside = _add(me, knowledgeBaseId=str(here.base_id))
    found = me.get("/materials", knowledgeBaseId=str(here.base_id)).json["items"]
    assert [item["id"] for item in found] == [inside["id"]]


def test_put_replaces_all_of_it(me: Caller, here: World) -> None:
    made = _add(me, knowledgeBaseId=str(here.base_id))
    answer = me.put(f"/materials/{made['id']}", {"title": "New", "body": "Other."})
    expected = {
        "id": made["id"],
        "title": "New",
        "body": "Other.",
        "createdAt": made["createdAt"],
    }
    assert (answer.status_code, answer.json) == (200, expected)
    assert me.get(f"/materials/{made['id']}").json == expected


def test_a_deleted_material_is_gone(me: Caller) -> None:
    made = _add(me)
    assert me.delete(f"/materials/{made['id']}").status_code == 204
    assert problem(me.get(f"/materials/{made['id']}")) == (404, "NOT_FOUND", [])
    assert problem(me.delete(f"/materials/{made['id']}")) == (404, "NOT_FOUND", [])
    assert problem(me.put(f"/materials/{made['id']}", TEXT)) == (404, "NOT_FOUND", [])


def test_a_knowledge_base_goes_with_its_materials(me: Caller, here: World) -> None:
    made = _add(me, knowledgeBaseId=str(here.base_id))
    assert me.delete(f"/knowledge-bases/{here.base_id}").status_code == 204
    assert me.get(f"/materials/{made['id']}").status_code == 404


def test_another_users_material_is_not_there(me: Caller, stranger: Caller) -> None:
    made = _add(me)
    path = f"/materials/{made['id']}"
    assert problem(stranger.get(path)) == (404, "NOT_FOUND", [])
    assert problem(stranger.put(path, {"title": "x", "body": "x"})) == (404, "NOT_FOUND", [])
    assert problem(stranger.delete(path)) == (404, "NOT_FOUND", [])
    assert stranger.get("/materials").json["items"] == []
    assert me.get(path).json == made


@pytest.mark.parametrize("whose", ["another", "nobody"])
def test_a_material_never_enters_a_knowledge_base_that_is_not_the_users(
    me: Caller, stranger: Caller, here: World, whose: str
) -> None:
    base_id = str(here.base_id if whose == "another" else uuid4())
    own = _add(stranger)
    before = whole_database()
    body = {**TEXT, "knowledgeBaseId": base_id}
    assert problem(stranger.post("/materials", body)) == (404, "TARGET_NOT_FOUND", [])
    assert problem(stranger.put(f"/materials/{own['id']}", body)) == (404, "TARGET_NOT_FOUND", [])
    assert problem(stranger.get("/materials", knowledgeBaseId=base_id)) == (404, "NOT_FOUND", [])
    assert whole_database() == before


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"title": "x"}, "body"),
        ({"title": "", "body": "x"}, "title"),
        ({"title": " \t", "body": "x"}, "title"),
        ({"title": "x" * 301, "body": "x"}, "title"),
        ({"title": "x", "body": ""}, "body"),
        ({"title": "x", "body": "x" * 200_001}, "body"),
        ({"title": "x", "body": "x", "knowledgeBaseId": "1"}, "knowledgeBaseId"),
        ({"title": "x", "body": "x", "userId": str(uuid4())}, "userId"),
    ],
)
def test_what_does_not_fit_is_refused(me: Caller, body: dict[str, Any], field: str) -> None:
    assert problem(me.post("/materials", body)) == (400, "INVALID_REQUEST", [field])
    assert me.get("/materials").json["items"] == []


def test_the_longest_text_fits(me: Caller) -> None:
    made = _add(me, body="字" * 200_000)
    assert me.get(f"/materials/{made['id']}").json["body"] == "字" * 200_000


def test_a_body_beyond_a_megabyte_is_too_large(me: Caller) -> None:
    answer = me.post("/materials", {"title": "x", "body": "字" * 340_000})
    assert problem(answer) == (413, "PAYLOAD_TOO_LARGE", [])


@pytest.mark.parametrize("limit", ["0", "101", "-1", "x", "", "0000000101", "１０"])
def test_a_limit_is_from_one_to_a_hundred(me: Caller, limit: str) -> None:
    assert problem(me.get("/materials", limit=limit))[:2] == (400, "INVALID_REQUEST")
