"""Equal requests at once, over a real gunicorn: one creates, every other one finds its job."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from aijobs.http.embedded.records import Records
from aijobs.http.tokens import issue
from aijobs.models import database as db
from tests.integration.http.api_process import api_process
from tests.world import World

AT_ONCE = 50
_TABLES = (
    *("ai_job", "ai_job_snapshot", "ai_job_reservation", "outbox_event", "job_transition"),
    *("ai_job_input", "ai_job_dependency"),
)


@pytest.fixture
def url(here: World, server_folder: Path, run_records: Records) -> Iterator[str]:
    with api_process(here.engine.settings, server_folder, run_records) as made:
        yield f"{made}/api/ai/jobs"


def _counts() -> dict[str, int]:
    sql = " UNION ALL ".join(f"SELECT '{name}' AS name, count(*) FROM {name}" for name in _TABLES)
    return {row["name"]: row["count"] for row in db.read(lambda: db.rows(sql))}


def _body(here: World, **more: Any) -> dict[str, Any]:
    target = {"targetType": "knowledge_base", "targetId": str(here.base_id)}
    return {"jobType": "quiz_generation", **target, **more}


def _post_at_once(here: World, url: str, bodies: list[dict[str, Any]]) -> list[httpx.Response]:
    """Each request on a connection of its own, sent only when all are ready."""
    token = issue(here.engine.settings, here.user_id, "USER", 600)
    headers = {"Authorization": f"Bearer {token}"}

    async def all_of_them() -> list[httpx.Response]:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(
            headers=headers, limits=limits, timeout=60, trust_env=False
        ) as client:
            return await asyncio.gather(*(client.post(url, json=body) for body in bodies))

    return asyncio.run(all_of_them())


def test_fifty_creates_with_one_key_make_one_of_everything(here: World, url: str) -> None:
    answers = _post_at_once(here, url, [_body(here, idempotencyKey="k")] * AT_ONCE)
    assert Counter(answer.status_code for answer in answers) == {201: 1, 200: AT_ONCE - 1}
    assert len({answer.json()["jobId"] for answer in answers}) == 1
    assert len({answer.headers["Location"] for answer in answers}) == 1
    assert _counts() == {
        "ai_job": 1,
        "ai_job_snapshot": 1,
        "ai_job_reservation": 1,
        "outbox_event": 1,
        "job_transition": 1,
        "ai_job_input": 0,
        "ai_job_dependency": 0,
    }


def test_of_different_bodies_under_one_key_one_wins_and_the_rest_conflict(
    here: World, url: str
) -> None:
    bodies = [_body(here, idempotencyKey="k", questionCount=1 + n % 2) for n in range(AT_ONCE)]
    answers = _post_at_once(here, url, bodies)
    assert Counter(answer.status_code for answer in answers) == {
        201: 1,
        200: AT_ONCE // 2 - 1,
        409: AT_ONCE // 2,
    }
    refused = [answer.json()["code"] for answer in answers if answer.status_code == 409]
    assert set(refused) == {"IDEMPOTENCY_KEY_REUSED"}
    assert _counts()["ai_job"] == 1


def test_equal_requests_without_a_key_are_as_many_jobs(here: World, url: str) -> None:
    answers = _post_at_once(here, url, [_body(here)] * 10)
    assert [answer.status_code for answer in answers] == [201] * 10
    assert _counts()["ai_job"] == _counts()["outbox_event"] == 10


def test_refusals_at_once_store_nothing(here: World, url: str) -> None:
    body = _body(here, idempotencyKey="k", targetId=str(uuid4()))
    answers = _post_at_once(here, url, [body] * 10)
    assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {
        (404, "TARGET_NOT_FOUND")
    }
    assert set(_counts().values()) == {0}
