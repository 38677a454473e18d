"""How a job ends for its user: cancelled, or with a result."""

from __future__ import annotations

from dataclasses import replace

import redis

from aijobs.engine.job_types import BUILTIN
from aijobs.engine.registry import Registry
from tests.integration.http.caller import Caller, caller, problem
from tests.integration.http.job_requests import (
    fail_job,
    made_job,
)
from tests.world import World, whole_database


def test_a_queued_job_is_cancelled_at_once_and_only_once(me: Caller, here: World) -> None:
    job_id = made_job(me, here)
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
    job_id = made_job(me, here)
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
    failed = made_job(me, here)
    fail_job(here, failed)
    done = here.finish(here.job(made_job(me, here))).id
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
    running = made_job(me, here)
    firm.claim()
    before = whole_database()
    refused = me.post(f"/jobs/{running}/cancel", None)
    assert problem(refused) == (409, "JOB_NOT_CANCELLABLE", [])
    assert whole_database() == before
    queued = made_job(me, here)
    assert me.post(f"/jobs/{queued}/cancel", None).status_code == 200


def test_a_result_is_shown_in_full_once_there_is_one(me: Caller, here: World) -> None:
    job_id = made_job(me, here, questionCount=2)
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
    failed = made_job(me, here)
    fail_job(here, failed)
    assert problem(me.get(f"/jobs/{failed}/result")) == (409, "JOB_NOT_FINISHED", [])


def test_published_cards_have_their_shape(me: Caller, here: World) -> None:
    job_id = made_job(me, here, jobType="flashcard_generation", cardCount=1)
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
