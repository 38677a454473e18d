"""Who may ask: without a valid token nobody, and nobody for what is another user's."""

from __future__ import annotations

import re
import time
from typing import Any
from uuid import UUID, uuid4

import falcon.testing
import jwt
import pytest
import redis

from aijobs.http.tokens import ROLES, Role, issue
from aijobs.models import database as db
from tests.integration.http.caller import Caller, caller, problem
from tests.integration.http.routes import all_routes, user_routes
from tests.world import World, settings_for, whole_database

OPEN = {"/healthz", "/readyz", "/metrics", "/openapi.json", "/docs"}
POINT = {"title": "t", "body": "b"}
KEY = {"provider": "deepseek", "apiKey": "a-key-of-mine-0001"}
QUIZ = {"jobType": "quiz_generation", "targetType": "knowledge_base"}


def _wrong_tokens(here: World) -> dict[str, str | None]:
    settings, user_id = here.engine.settings, here.user_id
    secret = settings.jwt_secret.get_secret_value()
    claims = {"sub": str(user_id), "role": "USER", "exp": int(time.time()) + 600}
    lasting = {"sub": str(user_id), "role": "USER"}
    other = settings_for("postgresql://", "redis://", jwt_secret=f"{secret}-of-another-system")
    good = issue(settings, user_id, "USER", 600)
    return {
        "none": None,
        "empty": "",
        "no scheme": good,
        "another scheme": f"Basic {good}",
        "no token": "Bearer",
        "a blank token": "Bearer  ",
        "two tokens": f"Bearer {good} {good}",
        "expired": f"Bearer {issue(settings, user_id, 'USER', -60)}",
        "another key": f"Bearer {issue(other, user_id, 'USER', 600)}",
        "no algorithm": f"Bearer {jwt.encode(claims, '', algorithm='none')}",
        "no expiry": f"Bearer {jwt.encode(lasting, secret)}",
        "no user": f"Bearer {jwt.encode({**claims, 'sub': 'demo'}, secret)}",
        "cut": f"Bearer {good[:-1]}",
        "garbage": "Bearer \xe9.\xff.x",
    }


def test_every_route_but_the_services_wants_a_token_and_refuses_with_one_body(
    me: Caller, here: World
) -> None:
    before, bodies, tokens = whole_database(), set(), _wrong_tokens(here)
    routes = all_routes(me)
    assert {path for _, path in routes} > OPEN
    for method, path in routes:
        filled = re.sub("{[^}]+}", str(here.base_id), path)
        for name, value in tokens.items():
            headers = {} if value is None else {"Authorization": value}
            answer = me.client.simulate_request(method, filled, headers=headers)
            if path in OPEN:
                assert answer.status_code == 200
                continue
            assert problem(answer) == (401, "UNAUTHENTICATED", []), (path, name)
            assert answer.headers["WWW-Authenticate"] == "Bearer"
            told = {key: text for key, text in answer.json.items() if key != "requestId"}
            bodies.add(str(sorted(told.items())))
    assert len(bodies) == 1, "an answer tells why its token was refused"
    assert whole_database() == before


def test_a_path_that_is_nowhere_below_the_prefix_wants_a_token_too(me: Caller) -> None:
    for path in ("/api/ai", "/api/ai/", "/api/ai/nowhere", "/ai/nowhere"):
        assert me.client.simulate_get(path).status_code == 401
    for path in ("//api/ai/jobs", "///ai/jobs", "/api/ai//jobs", "/api/ai/jobs//"):
        assert me.client.simulate_get(path).status_code == 401
    for path in ("/", "/api", "/api/aix", "/aix/jobs", "/API/AI/jobs", "/x//api/ai/jobs"):
        assert problem(me.client.simulate_get(path)) == (404, "NOT_FOUND", [])


@pytest.mark.parametrize("role", ROLES)
def test_every_role_has_jobs_of_its_own(me: Caller, here: World, role: Role) -> None:
    token = issue(here.engine.settings, here.user_id, role, 600)
    headers = {"Authorization": f"bearer {token}"}
    body = {**QUIZ, "targetId": str(here.base_id)}
    assert me.client.simulate_post("/api/ai/jobs", headers=headers, json=body).status_code == 201
    assert len(me.get("/jobs").json["items"]) == 1


@pytest.fixture
def ids(me: Caller, here: World) -> dict[str, str]:
    """What `me` has: one of everything that a path can name."""
    job = here.finish(here.create())
    material = me.post("/materials", POINT).json["id"]
    point = me.get(f"/knowledge-bases/{here.base_id}/points").json["items"][0]["id"]
    return {
        "{job_id:uuid}": str(job.id),
        "{base_id:uuid}": str(here.base_id),
        "{point_id:uuid}": point,
        "{material_id:uuid}": material,
        "{credential_id:uuid}": me.post("/model-credentials", KEY).json["id"],
    }


BODIES: dict[str, dict[str, Any]] = {
    "/knowledge-bases/{base_id:uuid}": {"title": "Taken over"},
    "/knowledge-bases/{base_id:uuid}/points": {"points": [POINT]},
    "/knowledge-bases/{base_id:uuid}/points/{point_id:uuid}": POINT,
    "/materials/{material_id:uuid}": POINT,
    "/model-credentials/{credential_id:uuid}": KEY,
}
CODES = {"{job_id": "JOB_NOT_FOUND", "{credential_id": "CREDENTIAL_NOT_FOUND"}


def _filled(route: str, ids: dict[str, str]) -> str:
    for name, value in ids.items():
        route = route.replace(name, value)
    return route


def _ask(who: Caller, method: str, path: str, route: str) -> falcon.testing.Result:
    headers = {"Authorization": f"Bearer {who.token}"}
    if route.endswith("/import"):
        csv = b"title,body\nA,a\n"
        return who.send(path, csv, "text/csv")
    body = BODIES.get(route) if method in ("POST", "PUT") else None
    return who.client.simulate_request(method, f"/api/ai{path}", headers=headers, json=body)


def test_every_route_says_404_to_anothers_id_as_to_no_ones(
    me: Caller, stranger: Caller, ids: dict[str, str]
) -> None:
    before = whole_database()
    named = [(method, path) for method, path in user_routes(me) if "{" in path]
    assert len(named) >= 12
    for method, route in named:
        paths = [_filled(route, found) for found in (ids, {name: str(uuid4()) for name in ids})]
        answers = [_ask(stranger, method, path, route) for path in paths]
        code = next((code for name, code in CODES.items() if name in route), "NOT_FOUND")
        assert [problem(answer) for answer in answers] == [(404, code, [])] * 2, (method, route)
        theirs, nobodys = ({**a.json, "requestId": None} for a in answers)
        assert theirs == nobodys, "the answer tells that there is such a thing"
    assert whole_database() == before


def test_a_point_of_another_base_is_not_in_this_one(me: Caller, ids: dict[str, str]) -> None:
    other = me.post("/knowledge-bases", {"title": "Other"}).json["id"]
    before = whole_database()
    path = f"/knowledge-bases/{other}/points/{ids['{point_id:uuid}']}"
    for answer in (me.get(path), me.put(path, POINT), me.delete(path)):
        assert problem(answer) == (404, "NOT_FOUND", [])
    assert whole_database() == before


def test_a_body_or_a_query_cannot_name_what_is_anothers(
    me: Caller, stranger: Caller, here: World, ids: dict[str, str]
) -> None:
    point, base = ids["{point_id:uuid}"], str(here.base_id)
    own = stranger.post("/knowledge-bases", {"title": "Theirs"}).json["id"]
    stranger.post(f"/knowledge-bases/{own}/points", {"points": [POINT]})
    before = whole_database()
    recall = {"jobType": "active_recall", "targetType": "knowledge_point", "answerText": "x"}
    weak = {"jobType": "weak_point_analysis"}
    for body in (
        {**QUIZ, "targetId": base},
        {**QUIZ, "targetId": own, "pointIds": [point]},
        {**recall, "targetId": point},
        {**weak, "targetType": "user", "targetId": str(here.user_id)},
        {**weak, "targetType": "material", "targetId": ids["{material_id:uuid}"]},
        {**weak, "targetType": "knowledge_base", "targetId": base},
    ):
        assert problem(stranger.post("/jobs", body))[:2] == (404, "TARGET_NOT_FOUND"), body
    after = {**QUIZ, "targetId": own, "after": [ids["{job_id:uuid}"]]}
    assert problem(stranger.post("/jobs", after))[:2] == (404, "JOB_NOT_FOUND")
    for path in ("/quizzes", "/flashcards"):
        assert problem(stranger.get(path, knowledgeBaseId=base))[:2] == (404, "NOT_FOUND")
    assert stranger.get("/jobs", targetId=base).json["items"] == []
    assert whole_database() == before


#: What there is one of for each user: no list.
OF_ONE = ("/profile", "/settings", "/usage")


def test_lists_show_ones_own_rows_alone(
    me: Caller, stranger: Caller, here: World, ids: dict[str, str]
) -> None:
    record = {
        "knowledgePointId": ids["{point_id:uuid}"],
        "activity": "quiz",
        "at": "2026-03-01T00:00Z",
    }
    assert me.post("/study-records", {"records": [record]}).status_code == 201
    user = {"targetType": "user", "targetId": str(here.user_id)}
    for job_type in ("learning_state_analysis", "weak_point_analysis", "next_action_planning"):
        here.finish(here.create(job_type, **user))
    point = {"targetType": "knowledge_point", "targetId": ids["{point_id:uuid}"]}
    here.finish(here.create("active_recall", **point, answerText="It holds the genome."))
    here.finish(here.create("flashcard_generation"))
    mine = f"/knowledge-bases/{here.base_id}"
    for method, path in user_routes(me):
        if method != "GET" or "{" in path or path in OF_ONE:
            continue
        more = {"knowledgeBaseId": str(here.base_id)} if path in ("/quizzes", "/flashcards") else {}
        assert me.get(path, **more).json["items"], f"nothing to hide in {path}"
        answer = stranger.get(path, **more)
        assert answer.json.get("items", []) == [], path
    assert me.get(f"{mine}/points").json["items"]


def test_a_token_of_a_user_that_is_unknown_has_nothing(
    me: Caller, here: World, redis_client: redis.Redis
) -> None:
    nobody = caller(here, UUID(int=0), redis_client)
    assert nobody.get("/jobs").json == {"items": [], "nextCursor": None}
    assert nobody.get("/profile").status_code == 200


@pytest.mark.parametrize(
    ("given", "echoed"),
    [
        ("abc-1.2_Z", True),
        ("x" * 128, True),
        ("x" * 129, False),
        ("a b", False),
        ("é", False),
        ("a;b", False),
        ("", False),
    ],
)
def test_a_request_id_is_echoed_or_made(me: Caller, given: str, echoed: bool) -> None:
    headers = {"X-Request-Id": given}
    for path in ("/healthz", "/api/ai/jobs", "/nowhere"):
        answer = me.client.simulate_get(path, headers=headers)
        told = answer.headers["X-Request-Id"]
        assert (told == given) is echoed
        if not echoed:
            assert UUID(told).version == 4
        if answer.status_code >= 400:
            assert answer.json["requestId"] == told


def test_a_problem_has_the_body_of_rfc_9457(me: Caller) -> None:
    path = f"/jobs/{uuid4()}"
    answer = me.get(path)
    assert answer.json == {
        "type": "urn:aijobs:problem:job_not_found",
        "title": "There is no such job",
        "status": 404,
        "detail": "No job of yours has this id.",
        "code": "JOB_NOT_FOUND",
        "retryable": False,
        "requestId": answer.headers["X-Request-Id"],
    }
    headers = {"Authorization": f"Bearer {me.token}", "Accept-Language": "zh-Hans-CN, en;q=0.5"}
    chinese = me.client.simulate_get(f"/api/ai{path}", headers=headers)
    assert chinese.json["title"] == "任务不存在"
    assert chinese.json["code"] == "JOB_NOT_FOUND"


def test_a_fault_of_ours_tells_nothing_of_itself(
    me: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.read(lambda: db.rows("ALTER TABLE ai_job RENAME COLUMN priority TO away"))
    monkeypatch.setattr("aijobs.http.problems.log", _Silent())
    answer = me.get("/jobs")
    assert problem(answer) == (500, "INTERNAL_ERROR", [])
    assert answer.json["retryable"] is True
    for word in ("priority", "column", "SELECT", "psycopg2"):
        assert word not in answer.text


class _Silent:
    """A log that shows nothing: a traceback with all locals takes seconds."""

    def error(self, *_: object, **__: object) -> None: ...
