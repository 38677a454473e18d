"""The document tells of every route and nothing else, and every answer is as it tells."""

from __future__ import annotations

import re
from typing import Any
from uuid import uuid4

import pytest

from aijobs.http.middleware import USER_PREFIXES
from aijobs.models.lifecycle import Failure, reject
from tests.integration.http.caller import PREFIX, Caller
from tests.integration.http.documented import Documented
from tests.integration.http.routes import all_routes
from tests.world import World

POINT = {"title": "Nucleus", "body": "It holds the genome.", "tags": ["cell"]}
ANSWER = "The nucleus holds the genome. It has a double envelope."
FAILURE = Failure("PROVIDER_UNAVAILABLE", "The AI service is unavailable.", "HTTP 503 at host:1")


@pytest.fixture
def api(me: Caller) -> Documented:
    return Documented(me)


def _documented_form(path: str) -> str:
    """`/ai/jobs/{job_id:uuid}` as the document writes it: `/api/ai/jobs/{jobId}`."""
    for prefix in USER_PREFIXES:
        if path.startswith(f"{prefix}/"):
            path = PREFIX + path.removeprefix(prefix)
    return re.sub(r"\{(\w+?)_(\w)(\w*):uuid\}", lambda m: f"{{{m[1]}{m[2].upper()}{m[3]}}}", path)


def test_every_route_of_the_application_is_documented_and_nothing_else(
    me: Caller, api: Documented
) -> None:
    routes = {(method, _documented_form(path)) for method, path in all_routes(me)}
    documented = {
        (method.upper(), path)
        for path, methods in api.document["paths"].items()
        for method in methods
    }
    assert documented == routes
    assert len(routes) > 30


def test_both_are_served_without_a_token(me: Caller, api: Documented) -> None:
    for path in ("/openapi.json", "/docs", "/healthz", "/readyz", "/metrics"):
        api.check("GET", path, me.client.simulate_get(path))
    page = me.client.simulate_get("/docs")
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert page.headers["Content-Security-Policy"].startswith("default-src 'none';")
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    assert "<h1>aijobs API</h1>" in page.text


def _target(here: World, job_type: str, point_id: str) -> dict[str, Any]:
    about_base = {"targetType": "knowledge_base", "targetId": str(here.base_id)}
    about_point = {"targetType": "knowledge_point", "targetId": point_id, "answerText": ANSWER}
    about_user = {"targetType": "user", "targetId": str(here.user_id)}
    targets: dict[str, dict[str, Any]] = {
        "quiz_generation": {**about_base, "questionCount": 3},
        "flashcard_generation": {**about_base, "cardCount": 3},
        "active_recall": about_point,
        "feynman_evaluation": about_point,
    }
    return targets.get(job_type, about_user)


def _point_id(api: Documented, here: World) -> str:
    points = api.get(f"/knowledge-bases/{here.base_id}/points").json["items"]
    point_id: str = points[0]["id"]
    return point_id


def _study(api: Documented, point_id: str) -> None:
    record = {"knowledgePointId": point_id, "activity": "quiz", "at": "2026-03-01T09:30:00Z"}
    full = {**record, "correct": False, "score": 0.2, "durationMs": 5400}
    assert api.post("/study-records", {"records": [record, full]}).status_code == 201


@pytest.mark.parametrize(
    ("job_type", "listed"),
    [
        ("learning_state_analysis", "/analyses"),
        ("weak_point_analysis", "/weak-points"),
        ("next_action_planning", "/recommendations"),
        ("quiz_generation", "/quizzes"),
        ("flashcard_generation", "/flashcards"),
        ("active_recall", "/recall-evaluations"),
        ("feynman_evaluation", "/recall-evaluations"),
    ],
)
def test_a_job_of_every_type_is_answered_as_documented(
    api: Documented, here: World, job_type: str, listed: str
) -> None:
    point_id = _point_id(api, here)
    _study(api, point_id)
    body = {"jobType": job_type, **_target(here, job_type, point_id)}
    made = api.post("/jobs", body, headers={"Idempotency-Key": "k"})
    assert made.status_code == 201 and "waitingFor" in made.json
    assert api.post("/jobs", body, headers={"Idempotency-Key": "k"}).status_code == 200
    path = f"/jobs/{made.json['jobId']}"
    here.finish(here.job(made.json["jobId"]))
    answer = api.get(path)
    assert answer.json["lifecycleStatus"] == "succeeded"
    assert api.get(path, headers={"If-None-Match": answer.headers["ETag"]}).status_code == 304
    assert api.get(f"{path}/result").json["artifacts"]
    assert api.get("/jobs").json["items"]
    found = api.get(listed, params={"knowledgeBaseId": str(here.base_id)}).json["items"]
    assert found


def test_jobs_that_end_otherwise_are_answered_as_documented(api: Documented, here: World) -> None:
    failed, queued, running = here.create(), here.create(), here.create()
    reject(failed.id, FAILURE, cause="dead_event", actor="test")
    assert api.get(f"/jobs/{failed.id}").json["errorCode"] == "PROVIDER_UNAVAILABLE"
    attempt = here.claim()
    claimed = attempt.job.id
    waiting = ({queued.id, running.id} - {claimed}).pop()
    assert api.post(f"/jobs/{waiting}/cancel").status_code == 200
    assert api.post(f"/jobs/{waiting}/cancel").json["code"] == "JOB_ALREADY_CANCELLED"
    assert api.post(f"/jobs/{claimed}/cancel").status_code == 202
    assert api.get(f"/jobs/{claimed}").json["cancelRequested"] is True
    assert api.get(f"/jobs/{failed.id}/result").json["code"] == "JOB_NOT_FINISHED"
    assert api.post(f"/jobs/{failed.id}/cancel").json["code"] == "JOB_NOT_CANCELLABLE"


def test_study_material_is_answered_as_documented(api: Documented) -> None:
    base = f"/knowledge-bases/{api.post('/knowledge-bases', {'title': 'Cells'}).json['id']}"
    point = api.post(f"{base}/points", {"points": [POINT]}).json["items"][0]["id"]
    for path, body in ((base, {"title": "The cell"}), (f"{base}/points/{point}", POINT)):
        assert api.get(path).status_code == 200
        assert api.put(path, body).status_code == 200
    for path in ("/knowledge-bases", f"{base}/points"):
        assert api.get(path, params={"limit": 1}).json["items"]
    csv = api.send(f"{base}/import", b"title,body\nRibosome,Makes proteins.\n", "text/csv")
    assert csv.json == {"imported": 1}
    assert api.delete(f"{base}/points/{point}").status_code == 204
    assert api.delete(base).status_code == 204


def test_materials_are_answered_as_documented(api: Documented, here: World) -> None:
    body = {"title": "Lecture", "body": "Cells.", "knowledgeBaseId": str(here.base_id)}
    path = f"/materials/{api.post('/materials', body).json['id']}"
    assert api.post("/materials", {"title": "Loose", "body": "Text."}).status_code == 201
    assert len(api.get("/materials").json["items"]) == 2
    assert api.get(path).json["body"] == "Cells."
    assert api.put(path, {"title": "Lecture 1", "body": "More."}).status_code == 200
    assert api.delete(path).status_code == 204


def test_learner_data_is_answered_as_documented(api: Documented, here: World) -> None:
    _study(api, _point_id(api, here))
    assert len(api.get("/study-records").json["items"]) == 2
    assert api.get("/profile").json["goals"] is None
    profile = {"goals": "Pass", "locale": "en", "preferences": {"pace": "slow"}}
    assert api.put("/profile", profile).status_code == 200
    assert api.delete("/profile").status_code == 204


def test_refusals_are_answered_as_documented(api: Documented, here: World) -> None:
    nowhere = str(uuid4())
    quiz = {"jobType": "quiz_generation", "targetType": "knowledge_base"}
    refused = [
        (401, api.get("/jobs", token=False)),
        (400, api.get("/jobs", params={"limit": "many"})),
        (400, api.post("/jobs", {**quiz, "targetId": "x"})),
        (400, api.post("/jobs", {**quiz, "jobType": "no_such_type", "targetId": nowhere})),
        (400, api.post("/jobs", {**quiz, "targetType": "user", "targetId": nowhere})),
        (404, api.post("/jobs", {**quiz, "targetId": nowhere})),
        (404, api.get(f"/jobs/{nowhere}")),
        (404, api.get(f"/jobs/{nowhere}/result")),
        (404, api.get("/quizzes", params={"knowledgeBaseId": nowhere})),
        (404, api.put(f"/materials/{nowhere}", {"title": "t", "body": "b"})),
        (404, api.get(f"/model-credentials/{nowhere}")),
        (413, api.post("/jobs", {"jobType": "x" * 1_000_001})),
        (415, api.send("/jobs", b"<job/>", "application/xml")),
        (
            415,
            api.send(f"/knowledge-bases/{here.base_id}/import", b"x", "image/png"),
        ),
    ]
    for status, answer in refused:
        assert answer.status_code == status, answer.text
    assert ("createJob", 400) in api.answered
