"""/study-records: many at once or none, about the user's own points, and what statistics read."""

from __future__ import annotations

import datetime as dt
from typing import Any
from uuid import UUID, uuid4

import pytest

from aijobs.models import database as db
from aijobs.models import learner
from tests.integration.http.caller import Caller, problem
from tests.world import World

AT = "2026-03-01T09:30:00Z"


@pytest.fixture
def point_ids(here: World) -> list[str]:
    """The world's points by position."""
    found = db.read(lambda: learner.source_points(here.user_id, base_id=here.base_id))
    return [str(point["id"]) for point in found]


def _record(point_id: str, **more: Any) -> dict[str, Any]:
    return {"knowledgePointId": point_id, "activity": "quiz", "at": AT, **more}


def _post(me: Caller, *records: dict[str, Any]) -> Any:
    return me.post("/study-records", {"records": list(records)})


def test_records_are_stored_as_they_are(me: Caller, point_ids: list[str]) -> None:
    full = _record(point_ids[0], correct=False, score=0.25, durationMs=1500)
    bare = {"knowledgePointId": point_ids[1], "activity": "reading", "at": "2026-03-01T09:30:01Z"}
    answer = _post(me, full, bare)
    assert (answer.status_code, answer.json) == (201, {"count": 2})
    found = me.get("/study-records").json["items"]
    assert [{**record, "id": 0} for record in found] == [{**bare, "id": 0}, {**full, "id": 0}]


def test_the_statistics_of_a_point_count_them(
    me: Caller, here: World, point_ids: list[str]
) -> None:
    _post(
        me,
        _record(point_ids[0], correct=True, durationMs=1000),
        _record(point_ids[0], activity="recall", score=0.5, durationMs=2000),
        _record(point_ids[0], activity="reading", at="2026-03-02T00:00:00+08:00"),
    )
    (found,) = db.read(lambda: learner.source_points(here.user_id, point_id=UUID(point_ids[0])))
    assert (found["attempts"], float(found["accuracy"]), found["mean_duration_ms"]) == (
        2,
        0.75,
        1500,
    )
    assert found["last_seen"] == dt.datetime(2026, 3, 1, 16, 0, tzinfo=dt.UTC)


@pytest.mark.parametrize("activity", ["quiz", "flashcard", "recall", "reading"])
def test_every_activity_is_stored(me: Caller, point_ids: list[str], activity: str) -> None:
    assert _post(me, _record(point_ids[0], activity=activity)).status_code == 201


@pytest.mark.parametrize(
    ("at", "shown"),
    [
        ("2026-03-01T09:30:00Z", "2026-03-01T09:30:00Z"),
        ("2026-03-01T09:30:00.123456+08:00", "2026-03-01T01:30:00.123456Z"),
        ("2026-03-01T09:30-05:30", "2026-03-01T15:00:00Z"),
        ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"),
    ],
)
def test_a_time_has_a_zone(me: Caller, point_ids: list[str], at: str, shown: str) -> None:
    assert _post(me, _record(point_ids[0], at=at)).status_code == 201
    assert me.get("/study-records").json["items"][0]["at"] == shown


def test_a_clock_may_be_wrong_by_less_than_a_day(me: Caller, point_ids: list[str]) -> None:
    now = dt.datetime.now(dt.UTC)
    soon, late = now + dt.timedelta(hours=23), now + dt.timedelta(hours=25)
    assert _post(me, _record(point_ids[0], at=soon.isoformat())).status_code == 201
    refused = _post(me, _record(point_ids[0], at=late.isoformat()))
    assert problem(refused) == (400, "INVALID_REQUEST", ["records.0.at"])


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"activity": "sleep"}, "activity"),
        ({"correct": 1}, "correct"),
        ({"score": 1.01}, "score"),
        ({"score": -0.01}, "score"),
        ({"score": "1"}, "score"),
        ({"durationMs": -1}, "durationMs"),
        ({"durationMs": 86_400_001}, "durationMs"),
        ({"durationMs": 1.5}, "durationMs"),
        ({"knowledgePointId": "k1"}, "knowledgePointId"),
        ({"at": "2026-03-01T09:30:00"}, "at"),
        ({"at": "2026-03-01"}, "at"),
        ({"at": "yesterday"}, "at"),
        ({"at": 1_700_000_000}, "at"),
        ({"at": "1700000000"}, "at"),
        ({"at": "0001-01-01T00:00:00+14:00"}, "at"),
        ({"at": "9999-12-31T23:59:59-14:00"}, "at"),
        ({"at": None}, "at"),
        ({"userId": str(uuid4())}, "userId"),
    ],
)
def test_one_record_that_does_not_fit_stores_none(
    me: Caller, point_ids: list[str], change: dict[str, Any], field: str
) -> None:
    refused = _post(me, _record(point_ids[0]), _record(point_ids[0], **change))
    assert problem(refused) == (400, "INVALID_REQUEST", [f"records.1.{field}"])
    assert me.get("/study-records").json["items"] == []


def test_points_that_are_not_the_users_are_named_and_nothing_is_stored(
    me: Caller, stranger: Caller, point_ids: list[str]
) -> None:
    base = stranger.post("/knowledge-bases", {"title": "Theirs"}).json["id"]
    body = {"points": [{"title": "t", "body": "b"}]}
    theirs = stranger.post(f"/knowledge-bases/{base}/points", body).json["items"][0]["id"]
    answer = _post(me, *(_record(p) for p in (point_ids[0], theirs, point_ids[1], str(uuid4()))))
    assert problem(answer) == (
        404,
        "TARGET_NOT_FOUND",
        ["records.1.knowledgePointId", "records.3.knowledgePointId"],
    )
    assert "records[1]" in answer.json["detail"]
    assert me.get("/study-records").json["items"] == []
    assert stranger.get("/study-records").json["items"] == []


@pytest.mark.parametrize(("count", "status"), [(0, 400), (1, 201), (500, 201), (501, 400)])
def test_one_to_five_hundred_at_once(
    me: Caller, point_ids: list[str], count: int, status: int
) -> None:
    answer = _post(me, *[_record(point_ids[0])] * count)
    assert answer.status_code == status
    assert len(me.pages("/study-records", limit=100)) == (count if status == 201 else 0)


def test_pages_hold_each_record_once_latest_first(me: Caller, point_ids: list[str]) -> None:
    times = [f"2026-03-0{day}T00:00:00Z" for day in (1, 2, 2, 2, 3)]
    _post(me, *(_record(point_ids[0], at=at) for at in times))
    first = me.get("/study-records", limit=2).json
    _post(me, _record(point_ids[0], at="2026-03-04T00:00:00Z"))
    second = me.get("/study-records", limit=2, cursor=first["nextCursor"]).json
    third = me.get("/study-records", limit=2, cursor=second["nextCursor"]).json
    items = [item for page in (first, second, third) for item in page["items"]]
    assert [item["at"] for item in items] == times[::-1]
    assert len({item["id"] for item in items}) == 5
    assert third["nextCursor"] is None


def test_the_list_can_be_of_one_point(me: Caller, stranger: Caller, point_ids: list[str]) -> None:
    _post(me, _record(point_ids[0]), _record(point_ids[1], activity="recall"))
    found = me.get("/study-records", knowledgePointId=point_ids[1]).json["items"]
    assert [record["activity"] for record in found] == ["recall"]
    assert stranger.get("/study-records").json["items"] == []
    refused = stranger.get("/study-records", knowledgePointId=point_ids[1])
    assert problem(refused) == (404, "NOT_FOUND", [])
    assert problem(me.get("/study-records", knowledgePointId="k1")) == (
        400,
        "INVALID_REQUEST",
        ["knowledgePointId"],
    )
