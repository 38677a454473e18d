"""What POST /jobs grants and refuses: urgency, counts, answers, points, parents."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import falcon.testing
import pytest

from aijobs.models import database as db
from tests.integration.http.caller import Caller, problem
from tests.integration.http.job_requests import (
    create_job,
    fail_job,
    made_job,
)
from tests.world import World, whole_database


@pytest.mark.parametrize(
    ("given", "kept"), [(None, 50), (50, 50), (0, 50), (49, 50), (51, 51), (100, 100)]
)
def test_a_user_can_only_lower_the_urgency(
    me: Caller, here: World, given: int | None, kept: int
) -> None:
    more: dict[str, Any] = {} if given is None else {"priority": given}
    assert create_job(me, here, **more).json["priority"] == kept


@pytest.mark.parametrize(
    ("more", "code", "fields"),
    [
        ({"jobType": "unheard_of"}, "INVALID_JOB_TYPE", ["jobType"]),
        ({"targetType": "user"}, "INVALID_TARGET_TYPE", ["targetType"]),
        ({"targetType": "knowledge_point"}, "INVALID_TARGET_TYPE", ["targetType"]),
        ({"targetType": "anything"}, "INVALID_TARGET_TYPE", ["targetType"]),
        ({"apiKeyMode": "user_key"}, "CREDENTIAL_REQUIRED", []),
        ({"apiKeyMode": "my_key"}, "INVALID_REQUEST", ["apiKeyMode"]),
        ({"targetId": "k1"}, "INVALID_REQUEST", ["targetId"]),
        ({"targetId": None}, "INVALID_REQUEST", ["targetId"]),
        ({"priority": 101}, "INVALID_REQUEST", ["priority"]),
        ({"priority": -1}, "INVALID_REQUEST", ["priority"]),
        ({"priority": "1"}, "INVALID_REQUEST", ["priority"]),
        ({"priority": 1.5}, "INVALID_REQUEST", ["priority"]),
        ({"priority": True}, "INVALID_REQUEST", ["priority"]),
        ({"questionCount": 0}, "INVALID_REQUEST", ["questionCount"]),
        ({"questionCount": 51}, "INVALID_REQUEST", ["questionCount"]),
        ({"cardCount": 5}, "INVALID_REQUEST", ["cardCount"]),
        ({"question_count": 5}, "INVALID_REQUEST", ["question_count"]),
        ({"userId": str(uuid4())}, "INVALID_REQUEST", ["userId"]),
        ({"pointIds": []}, "INVALID_REQUEST", ["pointIds"]),
        ({"pointIds": ["k1"]}, "INVALID_REQUEST", ["pointIds.0"]),
        ({"after": "x"}, "INVALID_REQUEST", ["after"]),
        ({"after": ["x"]}, "INVALID_REQUEST", ["after.0"]),
        ({"after": [str(uuid4())] * 11}, "INVALID_REQUEST", ["after"]),
    ],
)
def test_what_cannot_be_done_is_refused_and_nothing_is_stored(
    me: Caller, here: World, more: dict[str, Any], code: str, fields: list[str]
) -> None:
    before = whole_database()
    assert problem(create_job(me, here, **more)) == (400, code, fields)
    assert whole_database() == before


@pytest.mark.parametrize(
    ("job_type", "parameter", "most"),
    [("quiz_generation", "questionCount", 50), ("flashcard_generation", "cardCount", 200)],
)
def test_the_largest_counts_are_granted(
    me: Caller, here: World, job_type: str, parameter: str, most: int
) -> None:
    def create(count: int) -> falcon.testing.Result:
        asked: dict[str, Any] = {parameter: count}
        return create_job(me, here, jobType=job_type, **asked)

    assert create(1).status_code == 201
    granted = create(most)
    assert granted.status_code == 201
    assert here.job(UUID(granted.json["jobId"])).params == {parameter: most}
    assert problem(create(most + 1)) == (400, "INVALID_REQUEST", [parameter])


@pytest.mark.parametrize("job_type", ["active_recall", "feynman_evaluation"])
def test_an_answer_to_judge_is_required_and_kept_apart(
    me: Caller, here: World, job_type: str
) -> None:
    point = me.get(f"/knowledge-bases/{here.base_id}/points").json["items"][0]["id"]
    target = {"jobType": job_type, "targetType": "knowledge_point", "targetId": point}
    for more in ({}, {"answerText": ""}, {"answerText": "x" * 8001}, {"answerText": 1}):
        assert problem(create_job(me, here, **target, **more)) == (
            400,
            "INVALID_REQUEST",
            ["answerText"],
        )
    job_id = made_job(me, here, **target, answerText="字" * 8000)
    assert here.job(job_id).params == {}
    sql = "SELECT content FROM ai_job_input WHERE job_id = %(id)s"
    assert db.read(lambda: db.row(sql, {"id": job_id})) == {"content": {"answerText": "字" * 8000}}
    assert me.get(f"/jobs/{job_id}").json["queueName"] == "ai-analysis"


def test_an_empty_knowledge_base_has_nothing_to_ask_about(me: Caller, here: World) -> None:
    empty = me.post("/knowledge-bases", {"title": "Empty"}).json["id"]
    before = whole_database()
    answer = create_job(me, here, targetId=empty)
    assert problem(answer) == (400, "INVALID_REQUEST", ["targetId"])
    assert whole_database() == before


def test_points_to_ask_about_must_be_in_the_target(me: Caller, here: World) -> None:
    point = me.get(f"/knowledge-bases/{here.base_id}/points").json["items"][0]["id"]
    missing = str(uuid4())
    answer = create_job(me, here, pointIds=[point, missing])
    assert problem(answer) == (404, "TARGET_NOT_FOUND", ["pointIds"])
    assert missing in answer.json["errors"][0]["message"]
    assert point not in answer.json["errors"][0]["message"]
    job_id = made_job(me, here, pointIds=[point, point])
    sql = "SELECT content->'items' AS items FROM ai_job_snapshot WHERE job_id = %(id)s"
    found = db.read(lambda: db.row(sql, {"id": job_id}))
    assert found is not None
    assert [item["id"] for item in found["items"]] == [point]


def test_a_job_after_others_waits_for_them(me: Caller, here: World) -> None:
    first, second = made_job(me, here), made_job(me, here)
    child = made_job(me, here, after=[str(first), str(second), str(first)])
    sql = "SELECT after_job_id FROM ai_job_dependency WHERE job_id = %(id)s"
    found = db.read(lambda: db.rows(sql, {"id": child}))
    assert {row["after_job_id"] for row in found} == {first, second}
    for parent in (first, second):
        assert me.get(f"/jobs/{child}").json["waitingFor"]["reason"] == "dependencies"
        here.finish(here.job(parent))
    assert me.get(f"/jobs/{child}").json["waitingFor"]["reason"] == "queue"
    assert here.finish(here.job(child)).lifecycle_status == "succeeded"


def test_a_parent_that_is_done_is_nothing_to_wait_for(me: Caller, here: World) -> None:
    done = here.finish(here.job(made_job(me, here)))
    child = made_job(me, here, after=[str(done.id)])
    assert me.get(f"/jobs/{child}").json["waitingFor"]["reason"] == "queue"


def test_parents_that_failed_or_are_not_ones_own_are_refused(
    me: Caller, stranger: Caller, here: World
) -> None:
    failed, gone, good = made_job(me, here), made_job(me, here), made_job(me, here)
    fail_job(here, failed)
    assert me.post(f"/jobs/{gone}/cancel", None).status_code == 200
    theirs = here.create().id
    base = stranger.post("/knowledge-bases", {"title": "Theirs"}).json["id"]
    stranger.post(f"/knowledge-bases/{base}/points", {"points": [{"title": "t", "body": "b"}]})
    before = whole_database()
    for ended in (failed, gone):
        answer = create_job(me, here, after=[str(good), str(ended)])
        assert problem(answer) == (409, "DEPENDENCY_FAILED", [])
        assert "after.1" in answer.json["detail"]
    assert problem(create_job(me, here, after=[str(uuid4())])) == (404, "JOB_NOT_FOUND", [])
    foreign = create_job(stranger, here, targetId=base, after=[str(theirs)])
    assert problem(foreign) == (404, "JOB_NOT_FOUND", [])
    assert whole_database() == before
