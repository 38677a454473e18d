"""Requests about jobs, as several modules of tests make them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import falcon.testing

from aijobs.models import database as db
from aijobs.models.lifecycle import Failure, reject
from tests.integration.http.caller import Caller
from tests.world import World

FAILURE = Failure("PROVIDER_UNAVAILABLE", "The AI service is unavailable.", "HTTP 503 at host:1")


def job_body(here: World, **more: Any) -> dict[str, Any]:
    target = {"targetType": "knowledge_base", "targetId": str(here.base_id)}
    return {"jobType": "quiz_generation", **target, **more}


def ask_at(
    me: Caller, method: str, path: str, headers: dict[str, str] | None = None, **more: Any
) -> falcon.testing.Result:
    """A request at a whole path, with headers of its own."""
    sent = {"Authorization": f"Bearer {me.token}", **(headers or {})}
    return me.client.simulate_request(method, path, headers=sent, **more)


def create_job(
    me: Caller, here: World, key: str | None = None, **more: Any
) -> falcon.testing.Result:
    headers = {} if key is None else {"Idempotency-Key": key}
    return ask_at(me, "POST", "/api/ai/jobs", headers, json=job_body(here, **more))


def made_job(me: Caller, here: World, **more: Any) -> UUID:
    answer = create_job(me, here, **more)
    assert answer.status_code == 201, answer.text
    return UUID(answer.json["jobId"])


def write(sql: str, **params: Any) -> None:
    db.read(lambda: db.rows(sql, params))


def fail_job(here: World, job_id: UUID) -> None:
    reject(job_id, FAILURE, cause="dead_event", actor="test")
