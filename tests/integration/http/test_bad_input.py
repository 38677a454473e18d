"""Bad input at every door: a 4xx problem that names the place and the fix; nothing is stored.

What a body may hold is asked of every route that reads one, of every string in it and of every
query parameter.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any
from uuid import UUID, uuid4

import falcon.testing
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.integration.http.caller import Caller
from tests.integration.http.doors import (
    BODIES,
    INSTEAD,
    ROUTES,
    Doors,
    at,
    changed_at,
    leaves,
    places,
    send,
)
from tests.integration.http.routes import user_routes
from tests.world import World, whole_database

LISTS = (
    *("/jobs", "/knowledge-bases", "/materials", "/study-records", "/quizzes", "/flashcards"),
    *("/analyses", "/weak-points", "/recommendations", "/recall-evaluations"),
    "/model-credentials",
)


def _refusal(answer: falcon.testing.Result) -> dict[str, Any]:
    """The body of an answer that refuses; it must be whole."""
    assert 400 <= answer.status_code < 500, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    body: dict[str, Any] = answer.json
    assert body["status"] == answer.status_code
    assert body["requestId"] == answer.headers["X-Request-Id"]
    assert set(body) - {"errors"} == {
        *("type", "title", "status", "detail", "code", "retryable", "requestId")
    }
    assert body["detail"]
    assert body["retryable"] is False
    for error in body.get("errors", []):
        assert set(error) == {"field", "message"}
        assert error["field"]
        assert error["message"]
    return body


def test_a_body_that_is_none_is_refused(me: Caller, doors: Doors) -> None:
    before = whole_database()
    for route, door in doors.items():
        right = json.dumps(door[2]).encode()
        for name, (raw, word) in BODIES.items():
            body = _refusal(send(me, door, raw))
            assert body["code"] == "INVALID_REQUEST", (route, name)
            assert word in body["detail"], (route, name)
        large = _refusal(send(me, door, b'{"title": "' + b"x" * 2_000_000 + b'"}'))
        assert (large["status"], large["code"]) == (413, "PAYLOAD_TOO_LARGE"), route
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "x"):
            other = _refusal(send(me, door, right, kind))
            assert (other["status"], other["code"]) == (415, "UNSUPPORTED_MEDIA_TYPE"), route
            assert "application/json" in other["detail"]
    assert whole_database() == before


def test_a_value_that_no_database_can_store_is_named(me: Caller, doors: Doors) -> None:
    before = whole_database()
    for route, door in doors.items():
        for place in leaves(door[2]):
            for name, value in INSTEAD.items():
                raw = json.dumps(changed_at(door[2], place, "@")).encode().replace(b'"@"', value)
                refusal = _refusal(send(me, door, raw))
                assert refusal["code"] == "INVALID_REQUEST"
                fields = [error["field"] for error in refusal["errors"]]
                assert fields == [".".join(map(str, place))], (route, name)
    assert whole_database() == before


def test_a_value_of_another_kind_is_named(me: Caller, doors: Doors) -> None:
    """Whatever stands in the place of a string or a number, the answer tells where."""
    before = whole_database()
    for route, door in doors.items():
        values: tuple[Any, ...] = ({}, {"a": 1}, [[]], True, -1.5, "x" * 250_000)
        for place in leaves(door[2]):
            if "preferences" in place:  # anything at all
                continue
            named = ".".join(map(str, place))
            for value in values:
                if value is True and at(door[2], place) is True:
                    continue
                raw = json.dumps(changed_at(door[2], place, value)).encode()
                refusal = _refusal(send(me, door, raw))
                fields = [error["field"] for error in refusal.get("errors", [])]
                is_told = any(named == field or named.startswith(f"{field}.") for field in fields)
                assert is_told, (route, value, fields)
    assert whole_database() == before


def test_a_field_that_is_none_of_ours_is_named(me: Caller, doors: Doors) -> None:
    before = whole_database()
    for route, door in doors.items():
        for name in ("unknown", "user_id", "userId", "", "__class__", "model_config", "字"):
            raw = json.dumps({**door[2], name: "x"}).encode()
            refusal = _refusal(send(me, door, raw))
            fields = [error["field"] for error in refusal["errors"]]
            assert fields == [name or "body"], route
    assert whole_database() == before


def test_no_route_with_a_body_is_missing_here(me: Caller) -> None:
    bodiless = ("/cancel", "/import", "/test")
    told = {" ".join(route.split()[:2]).replace("/1", "/*") for route in ROUTES}
    assert told == {
        f"{method} {re.sub('{[^}]+}', '*', path)}"
        for method, path in user_routes(me)
        if method in ("POST", "PUT", "PATCH") and not path.endswith(bodiless)
    }


def test_the_bodies_of_these_tests_are_taken_as_they_are(me: Caller, doors: Doors) -> None:
    kinds = ("application/json; charset=utf-8", "application/merge-patch+json", "APPLICATION/JSON")
    for door in doors.values():
        for kind in ("application/json", *kinds):
            answer = send(me, door, json.dumps(door[2]).encode(), kind)
            assert answer.status_code in (200, 201), answer.text


def test_a_query_that_cannot_be_is_refused(me: Caller, here: World) -> None:
    base = f"knowledgeBaseId={here.base_id}"
    for path in (*LISTS, f"/knowledge-bases/{here.base_id}/points"):
        for query in _QUERIES:
            refusal = _refusal(_get(me, path, f"{base}&{query}"))
            assert (refusal["status"], refusal["code"]) == (400, "INVALID_REQUEST"), (path, query)
            name = query.partition("=")[0]
            assert name in refusal["detail"] or "U+0000" in refusal["detail"], (path, query)
        for cursor in _HARMLESS_CURSORS:
            assert _get(me, path, f"{base}&cursor={cursor}").status_code == 200, path


def test_an_offset_that_no_zone_has_is_a_time_all_the_same(me: Caller, doors: Doors) -> None:
    """Python reads offsets of up to a day, to the microsecond; PostgreSQL does not."""
    method, path, body = doors["POST /study-records"]
    for offset in ("+23:59", "-23:59", "+00:00:01.000001", "+15:59:59"):
        told = changed_at(body, ("records", 0, "at"), f"2026-03-01T09:30:00{offset}")
        assert send(me, (method, path, None), json.dumps(told).encode()).status_code == 201, offset
    times = [record["at"] for record in me.get("/study-records").json["items"]]
    assert sorted(times) == [
        "2026-02-28T09:31:00Z",
        "2026-02-28T17:30:01Z",
        "2026-03-01T09:29:58.999999Z",
        "2026-03-02T09:29:00Z",
    ]


def test_filters_that_cannot_be_are_refused(me: Caller, here: World) -> None:
    job = f"/jobs/{here.create().id}"
    for path, query, field in (
        ("/jobs", "status=nope", "status"),
        ("/jobs", "status=QUEUED", "status"),
        ("/jobs", "targetId=1", "targetId"),
        ("/analyses", "targetId=1", "targetId"),
        ("/materials", "knowledgeBaseId=1", "knowledgeBaseId"),
        ("/study-records", "knowledgePointId=1", "knowledgePointId"),
        ("/quizzes", "", "knowledgeBaseId"),
        ("/quizzes", "knowledgeBaseId=", "knowledgeBaseId"),
        (job, "wait=-1", "wait"),
        (job, "wait=" + "0" * 4 + "9" * 5000, "wait"),
        (job, "wait=00061", "wait"),
    ):
        refusal = _refusal(_get(me, path, query))
        assert [error["field"] for error in refusal["errors"]] == [field], (path, query)


def test_a_path_that_cannot_be_is_not_found(me: Caller) -> None:
    for path in ("/%00", "/jobs/%00", "/jobs/x%00y/cancel", "/%ED%A0%80", "/%FF", "/jobs/1"):
        assert _refusal(_get(me, path, ""))["code"] == "NOT_FOUND", path


def test_a_method_that_is_not_supported_is_told_which_are(me: Caller) -> None:
    headers = {"Authorization": f"Bearer {me.token}"}
    answer = me.client.simulate_patch("/api/ai/jobs", headers=headers)
    assert _refusal(answer)["code"] == "METHOD_NOT_ALLOWED"
    assert set(answer.headers["Allow"].split(", ")) >= {"GET", "POST"}


_TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=6,
)


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_no_body_at_all_is_an_error_of_ours(me: Caller, doors: Doors, data: st.DataObject) -> None:
    door = doors[data.draw(st.sampled_from(ROUTES))]
    place = data.draw(st.sampled_from(list(places(door[2]))))
    body = changed_at(door[2], place, data.draw(_ANYTHING))
    answer = send(me, door, json.dumps(body).encode())
    assert answer.status_code < 500
    if answer.status_code >= 400:
        _refusal(answer)


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    raw=st.binary(max_size=40),
    kind=st.sampled_from(["application/json", "text/csv", "text/markdown"]),
)
def test_no_bytes_at_all_are_an_error_of_ours(
    me: Caller, here: World, raw: bytes, kind: str
) -> None:
    for path in ("/jobs", f"/knowledge-bases/{here.base_id}/import"):
        answer = me.send(path, raw, kind)
        assert answer.status_code < 500
        if answer.status_code >= 400:
            _refusal(answer)


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(query=st.text(st.sampled_from("abc=&%01;,+~[]{}\"'é"), max_size=30), name=_TEXT)
def test_no_query_at_all_is_an_error_of_ours(me: Caller, query: str, name: str) -> None:
    cursor = base64.urlsafe_b64encode(name.encode(errors="surrogatepass")).decode()
    for wanted in (f"cursor={query}", f"jobType={query}&limit={query}", f"cursor={cursor}", query):
        assert _get(me, "/jobs", wanted).status_code < 500


def _get(me: Caller, path: str, query: str) -> falcon.testing.Result:
    headers = {"Authorization": f"Bearer {me.token}"}
    return me.client.simulate_get(f"/api/ai{path}", query_string=query, headers=headers)


def _cursor(moment: str, row_id: str = str(UUID(int=0))) -> str:
    return base64.urlsafe_b64encode(f"{moment}|{row_id}".encode()).decode()


_NOW = "2026-03-01T09:30:00+00:00"
_QUERIES = (
    *("limit=0", "limit=101", "limit=-1", "limit=1e1", "limit=", "limit=1&limit=x"),
    *(f"limit={'9' * 5000}", "limit=%00", "limit=1&limit=%00", "limit=%D9%A3"),
    *("cursor=", "cursor=x", "cursor=%FF", "cursor=a%00b", "cursor=ok&cursor=%00"),
    f"cursor={_cursor('2026-03-01T09:30:00')}",
    f"cursor={_cursor('yesterday')}",
    f"cursor={_cursor(_NOW, 'x')}",
    f"cursor={_cursor('0001-01-01T00:00:00+14:00')}",
    f"cursor={base64.urlsafe_b64encode(bytes([255, 254])).decode()}",
    "x%00=1",
    "x=1&x=%00",
)
#: Places that no page ends at, but which some page might.
_HARMLESS_CURSORS = [
    _cursor(moment)
    for moment in (
        _NOW,
        "2026-03-01T09:30:00+23:59",
        "2026-03-01T09:30:00-23:59",
        "2026-03-01T09:30:00+00:00:00.000001",
        "0001-01-01T00:00:00+00:00",
        "9999-12-31T23:59:59+00:00",
    )
]


def test_a_field_at_fault_is_told_in_words(me: Caller, here: World) -> None:
    """No regular expression, and nothing that only Python knows."""
    point = {"title": "t", "body": "b"}
    blank = {"points": [{**point, "title": " "}, {**point, "body": "\n\t"}]}
    record = {"knowledgePointId": str(uuid4()), "activity": "quiz", "at": "2026-03-01T09:30:00"}
    told = [
        me.post("/knowledge-bases", {"title": " "}),
        me.post(f"/knowledge-bases/{here.base_id}/points", blank),
        me.post("/materials", {"title": "t", "body": " "}),
        me.put("/profile", {"locale": "no locale!"}),
        me.post("/study-records", {"records": [record]}),
    ]
    assert [error for answer in told for error in answer.json["errors"]] == [
        {"field": "title", "message": "must not be blank"},
        {"field": "points.0.title", "message": "must not be blank"},
        {"field": "points.1.body", "message": "must not be blank"},
        {"field": "body", "message": "must not be blank"},
        {"field": "locale", "message": "does not have the form that is asked for"},
        {
            "field": "records.0.at",
            "message": "must tell its zone: end it with Z or an offset like +08:00",
        },
    ]
