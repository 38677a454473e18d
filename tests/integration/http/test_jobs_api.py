"""/jobs as its user sees it: created, found again by key, listed, cancelled, and their results."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import falcon.testing
import pytest
import redis

from aijobs.engine.job_types import BUILTIN
from aijobs.engine.registry import Registry
from aijobs.models import database as db
from aijobs.models.lifecycle import Failure, expire, reject, release_for_retry
from tests.integration.http.caller import Caller, caller, problem
from tests.world import World, whole_database

FAILURE = Failure("PROVIDER_UNAVAILABLE", "The AI service is unavailable.", "HTTP 503 at host:1")


def _body(here: World, **more: Any) -> dict[str, Any]:
    target = {"targetType": "knowledge_base", "targetId": str(here.base_id)}
    return {"jobType": "quiz_generation", **target, **more}


def _ask(
    me: Caller, method: str, path: str, headers: dict[str, str] | None = None, **more: Any
) -> falcon.testing.Result:
    """A request at a whole path, with headers of its own."""
    sent = {"Authorization": f"Bearer {me.token}", **(headers or {})}
    return me.client.simulate_request(method, path, headers=sent, **more)


def _create(me: Caller, here: World, key: str | None = None, **more: Any) -> falcon.testing.Result:
    headers = {} if key is None else {"Idempotency-Key": key}
    return _ask(me, "POST", "/api/ai/jobs", headers, json=_body(here, **more))


def _made(me: Caller, here: World, **more: Any) -> UUID:
    answer = _create(me, here, **more)
    assert answer.status_code == 201, answer.text
    return UUID(answer.json["jobId"])


def _write(sql: str, **params: Any) -> None:
    db.read(lambda: db.rows(sql, params))


def _fail(here: World, job_id: UUID) -> None:
    reject(job_id, FAILURE, cause="dead_event", actor="test")


def test_a_new_job_is_answered_with_every_field(me: Caller, here: World) -> None:
    answer = _create(me, here)
    assert answer.status_code == 201
    job = answer.json
    assert job == {
        "jobId": job["jobId"],
        "jobType": "quiz_generation",
        "lifecycleStatus": "queued",
        "queueName": "ai-interactive",
        "priority": 50,
        "progress": 0,
        "createdAt": job["createdAt"],
        "cancelRequested": False,
        "waitingFor": {
            "reason": "queue",
            "since": job["createdAt"],
            "detail": "waits for a free worker of queue ai-interactive",
        },
    }
    assert job["createdAt"].endswith("Z")
    assert answer.headers["Location"] == f"/api/ai/jobs/{job['jobId']}"
    assert _ask(me, "GET", answer.headers["Location"]).json == job


def test_the_older_prefix_answers_the_same(me: Caller, here: World) -> None:
    answer = _ask(me, "POST", "/ai/jobs/", json=_body(here))
    assert answer.status_code == 201
    assert answer.headers["Location"] == f"/ai/jobs/{answer.json['jobId']}"
    for prefix in ("/ai", "/api/ai"):
        path = f"{prefix}/jobs/{answer.json['jobId']}"
        assert _ask(me, "GET", path).json == answer.json
    assert _ask(me, "GET", "/ai/jobs").json == me.get("/jobs").json


def test_a_job_is_followed_to_its_success(me: Caller, here: World) -> None:
    job_id = _made(me, here, questionCount=3)
    attempt = here.claim()
    running = me.get(f"/jobs/{job_id}").json
    assert (running["lifecycleStatus"], running["progress"]) == ("running", 10)
    assert running["startedAt"] >= running["createdAt"]
    assert not {"waitingFor", "finishedAt", "result", "errorCode"} & set(running)
    here.run(attempt)
    done = me.get(f"/jobs/{job_id}").json
    assert (done["lifecycleStatus"], done["progress"]) == ("succeeded", 100)
    assert done["finishedAt"] >= done["startedAt"] == running["startedAt"]
    assert done["result"]["artifactCount"] == 3
    assert [set(item) for item in done["result"]["artifacts"]] == [
        {"artifactType", "artifactId"}
    ] * 3
    assert not {"waitingFor", "errorCode", "publicErrorMessage"} & set(done)
    assert me.get("/jobs").json["items"] == [done]


@pytest.mark.parametrize(
    ("languages", "message"),
    [
        (None, "The AI service is unavailable."),
        ("en", "The AI service is unavailable."),
        ("zh-CN", "AI 服务暂时不可用。"),
        ("fr, zh;q=0.8, en;q=0.1", "AI 服务暂时不可用。"),
        ("zh; q=0.1, en; q=0.9", "The AI service is unavailable."),
        ("zh;q=0", "The AI service is unavailable."),
    ],
)
def test_a_failure_is_told_in_the_readers_language(
    me: Caller, here: World, languages: str | None, message: str
) -> None:
    job_id = _made(me, here)
    _fail(here, job_id)
    headers = {} if languages is None else {"Accept-Language": languages}
    job = _ask(me, "GET", f"/api/ai/jobs/{job_id}", headers).json
    assert (job["lifecycleStatus"], job["errorCode"]) == ("failed", "PROVIDER_UNAVAILABLE")
    assert job["publicErrorMessage"] == message
    assert "HTTP 503" not in _ask(me, "GET", "/api/ai/jobs", headers).text
    (listed,) = _ask(me, "GET", "/api/ai/jobs", headers).json["items"]
    assert listed == job


def test_a_retried_jobs_error_is_not_its_end(me: Caller, here: World) -> None:
    job_id = _made(me, here)
    release_for_retry(here.claim().lease, FAILURE, delay_seconds=60, patient=lambda: False)
    job = me.get(f"/jobs/{job_id}").json
    assert (job["lifecycleStatus"], job["waitingFor"]["reason"]) == ("queued", "due_time")
    assert job["waitingFor"]["detail"].startswith("due at 20")
    assert not {"errorCode", "publicErrorMessage", "finishedAt"} & set(job)


def _why(me: Caller, job_id: UUID | str) -> tuple[str, str, str]:
    """The reason, and its sentence in English and Chinese."""
    english, chinese = (
        _ask(me, "GET", f"/api/ai/jobs/{job_id}", {"Accept-Language": language}).json["waitingFor"]
        for language in ("en", "zh-CN")
    )
    assert (english["reason"], english["since"]) == (chinese["reason"], chinese["since"])
    return english["reason"], english["detail"], chinese["detail"]


def test_it_says_why_it_waits(me: Caller, here: World) -> None:
    parent = _made(me, here)
    child = _made(me, here, after=[str(parent)])
    assert _why(me, child) == (
        "dependencies",
        "1 job(s) before it have not succeeded yet",
        "等待 1 个前置任务成功",
    )
    assert _why(me, parent) == (
        "queue",
        "waits for a free worker of queue ai-interactive",
        "等待队列 ai-interactive 的空闲工作进程",
    )
    _write("INSERT INTO queue_control VALUES ('ai-interactive', now(), 'test')")
    assert _why(me, parent) == (
        "queue_paused",
        "queue ai-interactive is paused",
        "队列 ai-interactive 已暂停",
    )
    _write("UPDATE queue_control SET paused_at = NULL")
    _write("UPDATE ai_job SET available_at = '2100-01-02T03:04:05.678Z'")
    assert _why(me, parent) == (
        "due_time",
        "due at 2100-01-02T03:04:05Z",
        "将于 2100-01-02T03:04:05Z 开始",
    )
    _write("UPDATE ai_job SET available_at = now(), definition_version = 2")
    assert _why(me, parent) == (
        "queue",
        "no worker knows this version of the job type",
        "没有工作进程支持该任务类型的版本",
    )


def test_locked_reads_running_and_expired_reads_queued(me: Caller, here: World) -> None:
    job_id = _made(me, here)
    _write(
        "UPDATE ai_job SET lifecycle_status = 'locked', attempt_no = 1, locked_by = 'runtime', "
        "locked_at = now(), lock_until = now() - interval '1 hour'"
    )
    assert me.get(f"/jobs/{job_id}").json["lifecycleStatus"] == "running"
    assert [job["jobId"] for job in me.get("/jobs", status="running").json["items"]] == [
        str(job_id)
    ]
    expire(job_id, grace_seconds=0)
    assert me.get(f"/jobs/{job_id}").json["lifecycleStatus"] == "queued"
    assert _why(me, job_id) == (
        "due_time",
        "an attempt was lost; the next is being decided",
        "一次执行已中断，正在安排下一次",
    )
    assert len(me.get("/jobs", status="queued").json["items"]) == 1
    assert me.get("/jobs", status="running").json["items"] == []


@pytest.mark.parametrize(
    ("given", "kept"), [(None, 50), (50, 50), (0, 50), (49, 50), (51, 51), (100, 100)]
)
def test_a_user_can_only_lower_the_urgency(
    me: Caller, here: World, given: int | None, kept: int
) -> None:
    more: dict[str, Any] = {} if given is None else {"priority": given}
    assert _create(me, here, **more).json["priority"] == kept


def test_a_key_finds_its_job_again_however_it_is_sent(me: Caller, here: World) -> None:
    first = _create(me, here, idempotencyKey="k")
    assert first.status_code == 201
    after_all = whole_database()
    for again in (
        _create(me, here, idempotencyKey="k"),
        _create(me, here, key="k"),
        _create(me, here, key="k", idempotencyKey="k"),
        _ask(
            me,
            "POST",
            "/ai/jobs",
            {"Idempotency-Key": "k"},
            json=dict(reversed(_body(here).items())),
        ),
    ):
        assert again.status_code == 200
        assert again.json == first.json
        assert again.headers["Location"].endswith(f"/jobs/{first.json['jobId']}")
    assert whole_database() == after_all


def test_a_key_that_was_used_for_another_body_is_refused(me: Caller, here: World) -> None:
    _create(me, here, key="k")
    before = whole_database()
    for more in ({"questionCount": 6}, {"priority": 60}, {"questionCount": "no number"}):
        for by_header in (True, False):
            sent = {"key": "k"} if by_header else {"idempotencyKey": "k"}
            answer = _create(me, here, **sent, **more)
            assert problem(answer) == (409, "IDEMPOTENCY_KEY_REUSED", [])
    assert whole_database() == before


def test_a_key_is_found_before_anything_is_refused(me: Caller, here: World) -> None:
    """Its job exists, so what has changed since does not matter."""
    first = _create(me, here, key="k", questionCount=1)
    here.finish(here.job(UUID(first.json["jobId"])))
    assert me.delete(f"/knowledge-bases/{here.base_id}").status_code == 204
    again = _create(me, here, key="k", questionCount=1)
    assert (again.status_code, again.json["jobId"]) == (200, first.json["jobId"])
    assert again.json["lifecycleStatus"] == "succeeded"


def test_a_key_is_of_one_user_and_one_job_type(me: Caller, stranger: Caller, here: World) -> None:
    first = _create(me, here, key="k").json["jobId"]
    other_type = _create(me, here, key="k", jobType="flashcard_generation")
    assert other_type.status_code == 201
    base = stranger.post("/knowledge-bases", {"title": "Theirs"}).json["id"]
    point = {"points": [{"title": "t", "body": "b"}]}
    stranger.post(f"/knowledge-bases/{base}/points", point)
    theirs = _create(stranger, here, key="k", targetId=base)
    assert theirs.status_code == 201
    assert len({first, other_type.json["jobId"], theirs.json["jobId"]}) == 3


def test_two_different_keys_in_one_request_are_refused(me: Caller, here: World) -> None:
    answer = _create(me, here, key="a", idempotencyKey="b")
    assert problem(answer) == (400, "INVALID_REQUEST", ["idempotencyKey"])


@pytest.mark.parametrize(("length", "status"), [(0, 400), (1, 201), (200, 201), (201, 400)])
def test_a_key_has_one_to_two_hundred_characters(
    me: Caller, here: World, length: int, status: int
) -> None:
    key = "k" * length
    assert _create(me, here, idempotencyKey=key).status_code == status
    expected = 200 if status == 201 else status
    assert _create(me, here, key=key).status_code == expected


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
    assert problem(_create(me, here, **more)) == (400, code, fields)
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
        return _create(me, here, jobType=job_type, **asked)

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
        assert problem(_create(me, here, **target, **more)) == (
            400,
            "INVALID_REQUEST",
            ["answerText"],
        )
    job_id = _made(me, here, **target, answerText="字" * 8000)
    assert here.job(job_id).params == {}
    sql = "SELECT content FROM ai_job_input WHERE job_id = %(id)s"
    assert db.read(lambda: db.row(sql, {"id": job_id})) == {"content": {"answerText": "字" * 8000}}
    assert me.get(f"/jobs/{job_id}").json["queueName"] == "ai-analysis"


def test_an_empty_knowledge_base_has_nothing_to_ask_about(me: Caller, here: World) -> None:
    empty = me.post("/knowledge-bases", {"title": "Empty"}).json["id"]
    before = whole_database()
    answer = _create(me, here, targetId=empty)
    assert problem(answer) == (400, "INVALID_REQUEST", ["targetId"])
    assert whole_database() == before


def test_points_to_ask_about_must_be_in_the_target(me: Caller, here: World) -> None:
    point = me.get(f"/knowledge-bases/{here.base_id}/points").json["items"][0]["id"]
    missing = str(uuid4())
    answer = _create(me, here, pointIds=[point, missing])
    assert problem(answer) == (404, "TARGET_NOT_FOUND", ["pointIds"])
    assert missing in answer.json["errors"][0]["message"]
    assert point not in answer.json["errors"][0]["message"]
    job_id = _made(me, here, pointIds=[point, point])
    sql = "SELECT content->'items' AS items FROM ai_job_snapshot WHERE job_id = %(id)s"
    found = db.read(lambda: db.row(sql, {"id": job_id}))
    assert found is not None
    assert [item["id"] for item in found["items"]] == [point]


def test_a_job_after_others_waits_for_them(me: Caller, here: World) -> None:
    first, second = _made(me, here), _made(me, here)
    child = _made(me, here, after=[str(first), str(second), str(first)])
    sql = "SELECT after_job_id FROM ai_job_dependency WHERE job_id = %(id)s"
    found = db.read(lambda: db.rows(sql, {"id": child}))
    assert {row["after_job_id"] for row in found} == {first, second}
    for parent in (first, second):
        assert me.get(f"/jobs/{child}").json["waitingFor"]["reason"] == "dependencies"
        here.finish(here.job(parent))
    assert me.get(f"/jobs/{child}").json["waitingFor"]["reason"] == "queue"
    assert here.finish(here.job(child)).lifecycle_status == "succeeded"


def test_a_parent_that_is_done_is_nothing_to_wait_for(me: Caller, here: World) -> None:
    done = here.finish(here.job(_made(me, here)))
    child = _made(me, here, after=[str(done.id)])
    assert me.get(f"/jobs/{child}").json["waitingFor"]["reason"] == "queue"


def test_parents_that_failed_or_are_not_ones_own_are_refused(
    me: Caller, stranger: Caller, here: World
) -> None:
    failed, gone, good = _made(me, here), _made(me, here), _made(me, here)
    _fail(here, failed)
    assert me.post(f"/jobs/{gone}/cancel", None).status_code == 200
    theirs = here.create().id
    base = stranger.post("/knowledge-bases", {"title": "Theirs"}).json["id"]
    stranger.post(f"/knowledge-bases/{base}/points", {"points": [{"title": "t", "body": "b"}]})
    before = whole_database()
    for ended in (failed, gone):
        answer = _create(me, here, after=[str(good), str(ended)])
        assert problem(answer) == (409, "DEPENDENCY_FAILED", [])
        assert "after.1" in answer.json["detail"]
    assert problem(_create(me, here, after=[str(uuid4())])) == (404, "JOB_NOT_FOUND", [])
    foreign = _create(stranger, here, targetId=base, after=[str(theirs)])
    assert problem(foreign) == (404, "JOB_NOT_FOUND", [])
    assert whole_database() == before


def test_a_list_is_filtered_by_what_users_see(me: Caller, here: World) -> None:
    ended = {
        "succeeded": here.finish(here.job(_made(me, here))).id,
        "failed": _made(me, here),
        "cancelled": _made(me, here),
    }
    _fail(here, ended["failed"])
    me.post(f"/jobs/{ended['cancelled']}/cancel", None)
    cards, other = _made(me, here, jobType="flashcard_generation"), _made(me, here)
    queued = _made(me, here)
    assert here.claim().job.id == cards

    def listed(**filters: Any) -> list[str]:
        return [job["jobId"] for job in me.get("/jobs", **filters).json["items"]]

    for status, job_id in ended.items():
        assert listed(status=status) == [str(job_id)]
    assert listed(status="running") == [str(cards)]
    assert listed(status="queued") == [str(queued), str(other)]
    assert listed(jobType="flashcard_generation") == [str(cards)]
    assert listed(jobType="flashcard_generation", status="queued") == []
    assert listed(jobType="unheard_of") == []
    assert len(listed(targetId=str(here.base_id))) == 6
    assert listed(targetId=str(uuid4())) == []
    assert listed(targetId=str(here.base_id), status="failed", jobType="quiz_generation") == [
        str(ended["failed"])
    ]
    for name, value in (("status", "locked"), ("status", ""), ("targetId", "k1"), ("limit", "0")):
        assert problem(me.get("/jobs", **{name: value})) == (400, "INVALID_REQUEST", [name])


def test_a_queued_job_is_cancelled_at_once_and_only_once(me: Caller, here: World) -> None:
    job_id = _made(me, here)
    answer = me.post(f"/jobs/{job_id}/cancel", None)
    assert answer.status_code == 200
    job = answer.json
    assert (job["lifecycleStatus"], job["cancelRequested"]) == ("cancelled", True)
    assert (job["errorCode"], job["publicErrorMessage"]) == (
        "JOB_CANCELLED",
        "The job was cancelled.",
    )
    assert job["finishedAt"] >= job["createdAt"]
    assert "startedAt" not in job
    before = whole_database()
    again = me.post(f"/jobs/{job_id}/cancel", None)
    assert problem(again) == (409, "JOB_ALREADY_CANCELLED", [])
    assert whole_database() == before


def test_a_running_job_is_asked_to_stop_and_asked_again(me: Caller, here: World) -> None:
    job_id = _made(me, here)
    attempt = here.claim()
    for _ in range(2):
        answer = me.post(f"/jobs/{job_id}/cancel", None)
        assert answer.status_code == 202
        assert (answer.json["lifecycleStatus"], answer.json["cancelRequested"]) == ("running", True)
    here.run(attempt)
    done = me.get(f"/jobs/{job_id}").json
    assert done["lifecycleStatus"] == "succeeded", "nobody told the attempt: its success came first"
    assert done["cancelRequested"] is True


def test_an_ended_job_cannot_be_cancelled(me: Caller, here: World) -> None:
    failed = _made(me, here)
    _fail(here, failed)
    done = here.finish(here.job(_made(me, here))).id
    before = whole_database()
    for job_id in (failed, done):
        answer = me.post(f"/jobs/{job_id}/cancel", None)
        assert problem(answer) == (409, "JOB_NOT_CANCELLABLE", [])
    assert whole_database() == before


def test_a_type_that_runs_to_its_end_is_cancelled_only_while_it_is_queued(
    here: World, redis_client: redis.Redis
) -> None:
    types = [replace(definition, cancellable=False) for definition in BUILTIN]
    firm = replace(here, engine=replace(here.engine, registry=Registry(types)))
    me = caller(firm, here.user_id, redis_client)
    running = _made(me, here)
    firm.claim()
    before = whole_database()
    refused = me.post(f"/jobs/{running}/cancel", None)
    assert problem(refused) == (409, "JOB_NOT_CANCELLABLE", [])
    assert whole_database() == before
    queued = _made(me, here)
    assert me.post(f"/jobs/{queued}/cancel", None).status_code == 200


def test_a_result_is_shown_in_full_once_there_is_one(me: Caller, here: World) -> None:
    job_id = _made(me, here, questionCount=2)
    assert problem(me.get(f"/jobs/{job_id}/result")) == (409, "JOB_NOT_FINISHED", [])
    attempt = here.claim()
    assert problem(me.get(f"/jobs/{job_id}/result")) == (409, "JOB_NOT_FINISHED", [])
    here.run(attempt)
    result = me.get(f"/jobs/{job_id}/result").json
    assert (result["jobId"], result["jobType"]) == (str(job_id), "quiz_generation")
    assert result["artifactCount"] == len(result["artifacts"]) == 2
    assert [item["ordinal"] for item in result["artifacts"]] == [0, 1]
    published = {
        item["id"]: item for item in me.get("/quizzes", knowledgeBaseId=here.base_id).json["items"]
    }
    for item in result["artifacts"]:
        assert (item["artifactType"], item["state"]) == ("quiz_question_candidate", "published")
        twin = published[item["publishedId"]]
        assert (item["question"], item["options"]) == (twin["question"], twin["options"])
        assert twin["options"][twin["answerIndex"]]
        assert (twin["jobId"], twin["knowledgeBaseId"]) == (str(job_id), str(here.base_id))
    failed = _made(me, here)
    _fail(here, failed)
    assert problem(me.get(f"/jobs/{failed}/result")) == (409, "JOB_NOT_FINISHED", [])


def test_published_cards_have_their_shape(me: Caller, here: World) -> None:
    job_id = _made(me, here, jobType="flashcard_generation", cardCount=1)
    here.run(here.claim())
    (card,) = me.get("/flashcards", knowledgeBaseId=here.base_id).json["items"]
    assert {**card, "id": 0, "front": 0, "back": 0, "createdAt": 0, "tags": 0} == {
        "id": 0,
        "knowledgeBaseId": str(here.base_id),
        "front": 0,
        "back": 0,
        "tags": 0,
        "jobId": str(job_id),
        "createdAt": 0,
    }
    assert isinstance(card["tags"], list)
    for path in ("/quizzes", "/flashcards"):
        assert problem(me.get(path)) == (400, "INVALID_REQUEST", ["knowledgeBaseId"])
