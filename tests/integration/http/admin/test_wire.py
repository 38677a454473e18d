"""What the admin API answers is what its document tells, and what it cannot read it refuses."""

from __future__ import annotations

import json
from typing import Any

import falcon.testing
import pytest

from tests.integration.circuit.scene import opened
from tests.integration.http.caller import ADMIN_PREFIX, Caller
from tests.integration.http.documented import Documented
from tests.integration.http.doors import BODIES, INSTEAD
from tests.integration.http.routes import admin_routes
from tests.scripted_provider import ScriptedProvider
from tests.world import World, whole_database

#: Method, path and a body that it takes.
Doors = list[tuple[str, str, dict[str, Any]]]
RIGHT: dict[tuple[str, str], dict[str, Any]] = {
    ("POST", "/circuit"): {"action": "open", "provider": "scripted", "reason": "why"},
    ("PUT", "/users/{user_id:uuid}/limits"): {
        "maxDailyAiJobs": 1,
        "maxDailyTokenBudget": 2,
        "monthlyTokenQuota": 3,
        "maxActiveJobs": 4,
    },
}


@pytest.fixture
def doors(admin: Caller, wired: World) -> Doors:
    """Every route that reads a body."""
    assert set(RIGHT) == {item for item in admin_routes(admin) if item[0] != "GET"}
    return [
        (method, path.replace("{user_id:uuid}", str(wired.user_id)), body)
        for (method, path), body in RIGHT.items()
    ]


def test_every_answer_is_as_documented(
    wired: World, admin: Caller, reader: Caller, server: ScriptedProvider
) -> None:
    api = Documented(admin)
    limits = f"/users/{wired.user_id}/limits"
    opened(wired, server)
    asked = [
        ("GET", "/circuit", admin.get("/circuit")),
        ("POST", "/circuit", admin.post("/circuit", {"action": "half-open"})),
        ("POST", "/circuit", admin.post("/circuit", {"action": "close"})),
        ("POST", "/circuit", admin.post("/circuit", {"action": "shut"})),
        ("POST", "/circuit", reader.post("/circuit", {"action": "close"})),
        ("GET", "/budget", admin.get("/budget")),
        ("GET", limits, admin.get(limits)),
        ("PUT", limits, admin.put(limits, {"maxActiveJobs": 9, "monthlyTokenQuota": 10**9})),
        ("PUT", limits, admin.put(limits, {"maxActiveJobs": -9})),
        ("GET", "/audit", admin.get("/audit", limit=2)),
        ("GET", "/doctor", admin.get("/doctor")),
        ("GET", "/audit", admin.get("/audit", cursor="x")),
    ]
    for method, path, answer in asked:
        api.check(method, f"{ADMIN_PREFIX}{path}", answer)
    assert {name for name, status in api.answered if status == 200} == {
        *("getCircuits", "changeCircuits", "getBudget", "listChanges"),
        *("getUserLimits", "changeUserLimits", "getDoctor"),
    }
    assert ("changeCircuits", 403) in api.answered


def test_a_body_that_is_none_is_refused(admin: Caller, doors: Doors) -> None:
    before = whole_database()
    for method, path, _ in doors:
        for name, (raw, word) in BODIES.items():
            answer = _sent(admin, method, path, raw)
            assert (answer.status_code, answer.json["code"]) == (400, "INVALID_REQUEST"), name
            assert word in answer.json["detail"], name
    assert whole_database() == before


def test_a_value_that_no_database_can_store_is_named(admin: Caller, doors: Doors) -> None:
    before = whole_database()
    for method, path, body in doors:
        for field in body:
            for value in INSTEAD.values():
                raw = json.dumps({**body, field: "@"}).encode().replace(b'"@"', value)
                answer = _sent(admin, method, path, raw)
                assert answer.status_code == 400, (path, field, value)
                assert [fault["field"] for fault in answer.json["errors"]] == [field]
    assert whole_database() == before


def _sent(who: Caller, method: str, path: str, raw: bytes) -> falcon.testing.Result:
    headers = {"Authorization": f"Bearer {who.token}", "Content-Type": "application/json"}
    return who.client.simulate_request(method, f"{ADMIN_PREFIX}{path}", body=raw, headers=headers)
