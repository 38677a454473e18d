"""/jobs as its user sees it: created, followed, listed, and why one waits."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from aijobs.models.lifecycle import expire, release_for_retry
from tests.integration.http.caller import Caller, problem
from tests.integration.http.job_requests import (
    FAILURE,
    ask_at,
    create_job,
    fail_job,
    job_body,
    made_job,
    write,
)
from tests.world import World


def test_a_new_job_is_answered_with_every_field(me: Caller, here: World) -> None:
    answer = create_job(me, here)
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
    assert ask_at(me, "GET", answer.headers["Location"]).json == job


def test_the_older_prefix_answers_the_same(me: Caller, here: World) -> None:
    answer = ask_at(me, "POST", "/ai/jobs/", json=job_body(here))
    assert answer.status_code == 201
    assert answer.headers["Location"] == f"/ai/jobs/{answer.json['jobId']}"
    for prefix in ("/ai", "/api/ai"):
        path = f"{prefix}/jobs/{answer.json['jobId']}"
        assert ask_at(me, "GET", path).json == answer.json
    assert ask_at(me, "GET", "/ai/jobs").json == me.get("/jobs").json


def test_a_job_is_followed_to_its_success(me: Caller, here: World) -> None:
    job_id = made_job(me, here, questionCount=3)
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
    job_id = made_job(me, here)
    fail_job(here, job_id)
    headers = {} if languages is None else {"Accept-Language": languages}
    job = ask_at(me, "GET", f"/api/ai/jobs/{job_id}", headers).json
    assert (job["lifecycleStatus"], job["errorCode"]) == ("failed", "PROVIDER_UNAVAILABLE")
    assert job["publicErrorMessage"] == message
    assert "HTTP 503" not in ask_at(me, "GET", "/api/ai/jobs", headers).text
    (listed,) = ask_at(me, "GET", "/api/ai/jobs", headers).json["items"]
    assert listed == job


def test_a_retried_jobs_error_is_not_its_end(me: Caller, here: World) -> None:
    job_id = made_job(me, here)
    release_for_retry(here.claim().lease, FAILURE, delay_seconds=60, patient=lambda: False)
    job = me.get(f"/jobs/{job_id}").json
    assert (job["lifecycleStatus"], job["waitingFor"]["reason"]) == ("queued", "due_time")
    assert job["waitingFor"]["detail"].startswith("due at 20")
    assert not {"errorCode", "publicErrorMessage", "finishedAt"} & set(job)


def _why(me: Caller, job_id: UUID | str) -> tuple[str, str, str]:
    """The reason, and its sentence in English and Chinese."""
    english, chinese = (
        ask_at(me, "GET", f"/api/ai/jobs/{job_id}", {"Accept-Language": language}).json[
            "waitingFor"
        ]
        for language in ("en", "zh-CN")
    )
    assert (english["reason"], english["since"]) == (chinese["reason"], chinese["since"])
    return english["reason"], english["detail"], chinese["detail"]


def test_it_says_why_it_waits(me: Caller, here: World) -> None:
    parent = made_job(me, here)
    child = made_job(me, here, after=[str(parent)])
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
    write("INSERT INTO queue_control VALUES ('ai-interactive', now(), 'test')")
    assert _why(me, parent) == (
        "queue_paused",
        "queue ai-interactive is paused",
        "队列 ai-interactive 已暂停",
    )
    write("UPDATE queue_control SET paused_at = NULL")
    write("UPDATE ai_job SET available_at = '2100-01-02T03:04:05.678Z'")
    assert _why(me, parent) == (
        "due_time",
        "due at 2100-01-02T03:04:05Z",
        "将于 2100-01-02T03:04:05Z 开始",
    )
    write("UPDATE ai_job SET available_at = now(), definition_version = 2")
    assert _why(me, parent) == (
        "queue",
        "no worker knows this version of the job type",
        "没有工作进程支持该任务类型的版本",
    )


def test_locked_reads_running_and_expired_reads_queued(me: Caller, here: World) -> None:
    job_id = made_job(me, here)
    write(
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


def test_a_list_is_filtered_by_what_users_see(me: Caller, here: World) -> None:
    ended = {
        "succeeded": here.finish(here.job(made_job(me, here))).id,
        "failed": made_job(me, here),
        "cancelled": made_job(me, here),
    }
    fail_job(here, ended["failed"])
    me.post(f"/jobs/{ended['cancelled']}/cancel", None)
    cards, other = made_job(me, here, jobType="flashcard_generation"), made_job(me, here)
    queued = made_job(me, here)
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
