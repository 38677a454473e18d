"""An administrator looks at circuits and moves them; the engine obeys, and the audit knows."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.circuit.scene import (
    OPEN_SECONDS,
    Circuit,
    called,
    circuit_of,
    half_opened,
    opened,
    passed,
    row_of,
    time_passes,
)
from tests.integration.circuit.test_epochs import during_a_call
from tests.integration.engine.seen import rows
from tests.integration.engine.wire import MODEL
from tests.integration.http.admin.conftest import CHIEF
from tests.integration.http.caller import Caller, problem
from tests.integration.models.states import created
from tests.scripted_provider import ScriptedProvider
from tests.world import World, whole_database

QUIZ = {"jobType": "quiz_generation", "targetType": "knowledge_base"}


def _only(answer: Any) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    [item] = answer.json["items"]
    found: dict[str, Any] = item
    return found


def _state(answer: Any) -> tuple[str, int]:
    item = _only(answer)
    return item["state"], item["epoch"]


def _hinted() -> set[Any]:
    """Whose hint no relay has sent yet."""
    found = rows(
        "SELECT aggregate_id FROM outbox_event "
        "WHERE event_type = 'ai.job.enqueue' AND status = 'pending'"
    )
    return {row["aggregate_id"] for row in found}


def _all_hints_are_sent() -> None:
    rows("UPDATE outbox_event SET status = 'published', published_at = now()")
    rows("UPDATE ai_job SET dispatched_at = now() - interval '1 s', available_at = now()")


def test_a_route_that_has_never_failed_is_closed(admin: Caller) -> None:
    item = _only(admin.get("/circuit"))
    job_types = item.pop("jobTypes")
    assert item == {
        "provider": "scripted",
        "model": MODEL,
        "state": "closed",
        "epoch": 0,
        "consecutiveFailures": 0,
    }
    assert "quiz_generation" in job_types


def test_what_a_provider_did_is_shown(
    wired: World, reader: Caller, server: ScriptedProvider
) -> None:
    called(wired, server, "503", times=3)
    assert _only(reader.get("/circuit"))["consecutiveFailures"] == 3
    opened(wired, server, "402")
    item = _only(reader.get("/circuit"))
    assert (item["state"], item["epoch"], item["cause"]) == ("open", 1, "PROVIDER_ACCOUNT")
    assert item["openedAt"] < item["nextProbeAt"]
    assert item["changedBy"] == wired.engine.holder


def test_open_refuses_new_jobs_and_keeps_the_others_waiting(
    wired: World, admin: Caller, me: Caller
) -> None:
    job = created(wired)
    assert _state(admin.post("/circuit", {"action": "open"})) == ("open", 1)
    refused = me.post("/jobs", {**QUIZ, "targetId": str(wired.base_id)})
    assert problem(refused) == (503, "PLATFORM_CIRCUIT_OPEN", [])
    assert me.get(f"/jobs/{job.id}").json["waitingFor"]["reason"] == "circuit_open"
    assert circuit_of() == Circuit("open", 1, 0)


def test_open_is_probed_by_itself_after_a_while_unless_it_is_to_hold(
    wired: World, admin: Caller
) -> None:
    admin.post("/circuit", {"action": "open"})
    assert (row_of()["next_probe_at"] - row_of()["opened_at"]).total_seconds() == OPEN_SECONDS
    time_passes()
    passed(wired)
    assert circuit_of().state == "half_open"
    held = _only(admin.post("/circuit", {"action": "open", "hold": True}))
    assert "nextProbeAt" not in held
    time_passes()
    passed(wired)
    assert circuit_of() == Circuit("open", 3, 0)


def test_what_a_provider_has_opened_can_be_held_open(
    wired: World, admin: Caller, server: ScriptedProvider
) -> None:
    """In trouble it is open already when somebody decides to stop all calls."""
    opened(wired, server)
    since = row_of()["opened_at"]
    for _ in range(2):
        held = _only(admin.post("/circuit", {"action": "open", "hold": True}))
        assert (held["state"], held["epoch"], held["changedBy"]) == ("open", 2, f"admin:{CHIEF}")
        assert "nextProbeAt" not in held
    assert row_of()["opened_at"] == since
    time_passes()
    passed(wired)
    assert _state(admin.post("/circuit", {"action": "open"})) == ("open", 2)
    assert "nextProbeAt" not in _only(admin.get("/circuit"))
    assert len(admin.get("/audit", what="circuit.open").json["items"]) == 2


def test_half_open_lets_two_jobs_try_and_wakes_as_many(
    wired: World, admin: Caller, server: ScriptedProvider
) -> None:
    jobs = {created(wired).id for _ in range(5)}
    opened(wired, server)
    _all_hints_are_sent()
    assert _state(admin.post("/circuit", {"action": "half-open"})) == ("half_open", 2)
    assert len(_hinted() & jobs) == 2
    assert row_of()["probes"] == 2
    wired.run(wired.claim())
    assert circuit_of() == Circuit("closed", 3, 0)


def test_close_lets_those_go_on_who_have_waited(
    wired: World, admin: Caller, server: ScriptedProvider
) -> None:
    jobs = {created(wired).id for _ in range(5)}
    half_opened(wired, server)
    _all_hints_are_sent()
    assert _state(admin.post("/circuit", {"action": "close"})) == ("closed", 3)
    assert _hinted() >= jobs
    item = _only(admin.get("/circuit"))
    assert "cause" not in item and "openedAt" not in item
    assert item["consecutiveFailures"] == 0


def test_what_a_call_from_before_comes_to_changes_nothing(
    wired: World, admin: Caller, server: ScriptedProvider
) -> None:
    """It began while the circuit was closed; an administrator has opened and closed it since."""

    def meddle() -> None:
        for action in ("open", "close"):
            assert admin.post("/circuit", {"action": action}).status_code == 200

    during_a_call(wired, server, meddle, "402")
    assert circuit_of() == Circuit("closed", 2, 0)


def test_each_change_is_in_the_audit_and_what_changes_nothing_is_not(admin: Caller) -> None:
    for action in ("open", "open", "half-open", "close", "close"):
        body = {"action": action, "reason": "The provider moves"}
        assert admin.post("/circuit", body).status_code == 200
    items = admin.get("/audit", target=f"scripted/{MODEL}").json["items"]
    assert [(item["what"], item["who"]) for item in items] == [
        (what, f"admin:{CHIEF}") for what in ("circuit.closed", "circuit.half_open", "circuit.open")
    ]
    assert items[2]["before"] == {
        "state": "closed",
        "epoch": 0,
        "cause": None,
        "consecutiveFailures": 0,
    }
    assert items[2]["after"] == {"state": "open", "epoch": 1, "cause": "The provider moves"}


def test_one_route_is_moved_alone(wired: World, admin: Caller) -> None:
    rows("INSERT INTO platform_circuit (provider, model) VALUES ('gone', 'old-model')")
    body = {"action": "open", "provider": "scripted", "model": MODEL}
    items = admin.post("/circuit", body).json["items"]
    assert [(item["provider"], item["state"]) for item in items] == [
        ("gone", "closed"),
        ("scripted", "open"),
    ]
    assert items[0]["jobTypes"] == []
    admin.post("/circuit", {"action": "open", "model": "old-model"})
    assert circuit_of("scripted").epoch == 1
    states = rows("SELECT state FROM platform_circuit")
    assert [row["state"] for row in states] == ["open", "open"]


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["action"]),
        ({"action": "half_open"}, ["action"]),
        ({"action": "open", "provider": "nobody"}, ["provider"]),
        ({"action": "open", "provider": "scripted", "model": "x"}, ["provider", "model"]),
        ({"action": "open", "hold": "yes"}, ["hold"]),
        ({"action": "open", "reason": " "}, ["reason"]),
        ({"action": "open", "reason": "x" * 201}, ["reason"]),
        ({"action": "open", "why": "?"}, ["why"]),
    ],
)
def test_what_cannot_be_done_is_refused_by_field(
    admin: Caller, body: dict[str, Any], fields: list[str]
) -> None:
    before = whole_database()
    assert problem(admin.post("/circuit", body)) == (400, "INVALID_REQUEST", fields)
    assert whole_database() == before
