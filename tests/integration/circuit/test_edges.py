"""Every edge of a route's circuit, taken by real calls, with its epoch and its audit row."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from aijobs.engine.cut import CutReason
from aijobs.engine.registry import Registry
from tests.integration.circuit.scene import (
    FAILURES_TO_OPEN,
    FAULTS,
    OPEN_SECONDS,
    PROBES,
    Circuit,
    called,
    changes,
    circuit_of,
    half_opened,
    half_opened_by_failures,
    opened,
    passed,
    row_of,
    time_passes,
)
from tests.integration.engine.seen import causes, rows
from tests.integration.engine.wire import attempt, books
from tests.integration.models.rivals import race
from tests.integration.models.states import created
from tests.scripted_provider import ScriptedProvider
from tests.world import World

#: Time-outs, 5xx and the network.
FAILURES = (
    *("500", "503", "504", "html_502"),
    *("accept_then_reset", "accept_then_close", "half_body_chunked", "mid_stream_cut"),
)
#: The user's input, and a provider that is only busy. The knob and the error of the job.
NEUTRAL = {
    "429": "PROVIDER_RATE_LIMITED",
    "400": "PROVIDER_BAD_REQUEST",
    "413": "PROVIDER_BAD_REQUEST",
    "422": "PROVIDER_BAD_REQUEST",
    "risk_400": "CONTENT_SAFETY_BLOCKED",
    "refusal": "CONTENT_SAFETY_BLOCKED",
}
AT_ONCE = 15
#: What an answer used whose call was allowed less.
BEYOND_BOUND = {"prompt_tokens": 120, "completion_tokens": 1_000_000}
ALMOST = Circuit("closed", 0, FAILURES_TO_OPEN - 1)


def test_ten_failures_in_a_row_open_it_and_nine_do_not(
    wired: World, server: ScriptedProvider
) -> None:
    called(wired, server, "503", times=FAILURES_TO_OPEN - 1)
    assert (circuit_of(), changes()) == (ALMOST, [])
    last = called(wired, server, "503")
    assert circuit_of() == Circuit("open", 1, FAILURES_TO_OPEN)
    assert changes() == [("circuit.open", "closed/0", "open/1")]
    assert row_of()["cause"] == "PROVIDER_UNAVAILABLE"
    waits = row_of()["next_probe_at"] - row_of()["opened_at"]
    assert waits.total_seconds() == OPEN_SECONDS
    assert (last.lifecycle_status, last.retry_count) == ("queued", 0)
    assert causes(last.id)[-1] == "hand_back:circuit"


@pytest.mark.parametrize("knob", ["503", "402"])
def test_failures_at_the_same_moment_open_it_once(
    wired: World, server: ScriptedProvider, knob: str
) -> None:
    """Only those before the change are retries of their jobs; after it nobody's are."""
    jobs = [created(wired) for _ in range(AT_ONCE)]
    claimed = [wired.claim() for _ in jobs]
    server.script(knob)
    race([partial(wired.run, attempt) for attempt in claimed])
    counted = FAILURES_TO_OPEN if knob == "503" else 1
    assert circuit_of() == Circuit("open", 1, counted)
    assert changes() == [("circuit.open", "closed/0", "open/1")]
    now = [wired.job(job.id) for job in jobs]
    assert {job.lifecycle_status for job in now} == {"queued"}
    assert sorted(job.retry_count for job in now) == sorted(
        [1] * (counted - 1) + [0] * (AT_ONCE - counted + 1)
    )


def test_every_kind_of_failure_counts(wired: World, server: ScriptedProvider) -> None:
    for number, knob in enumerate(FAILURES, 1):
        job = called(wired, server, knob)
        assert circuit_of() == Circuit("closed", 0, number), knob
        assert (job.lifecycle_status, job.retry_count) == ("queued", 1), knob


def test_a_success_in_between_begins_the_count_anew(wired: World, server: ScriptedProvider) -> None:
    called(wired, server, "503", times=FAILURES_TO_OPEN - 1)
    assert called(wired, server, "ok").lifecycle_status == "succeeded"
    assert circuit_of() == Circuit("closed", 0, 0)
    called(wired, server, "503", times=FAILURES_TO_OPEN - 1)
    assert circuit_of() == ALMOST
    called(wired, server, "503")
    assert circuit_of().state == "open"


def test_success_on_a_sound_route_writes_nothing(wired: World, server: ScriptedProvider) -> None:
    called(wired, server, "ok", times=2)
    assert rows("SELECT 1 FROM platform_circuit") == []


@pytest.mark.parametrize("knob", NEUTRAL)
def test_what_is_not_the_routes_fault_changes_nothing(
    wired: World, server: ScriptedProvider, knob: str
) -> None:
    called(wired, server, knob, times=FAILURES_TO_OPEN + 1)
    assert circuit_of() == Circuit()
    called(wired, server, "503", times=FAILURES_TO_OPEN - 1)
    job = called(wired, server, knob)
    assert books(job.id)[-1].error_code == NEUTRAL[knob]
    assert circuit_of() == ALMOST
    called(wired, server, "503")
    assert circuit_of().state == "open"


@pytest.mark.parametrize(
    "options",
    [{"text": "not a document"}, {"text": '{"questions": []}'}, {"finish_reason": "length"}],
    ids=["unreadable", "invalid", "truncated"],
)
def test_an_answer_that_fails_validation_is_neutral(
    wired: World, server: ScriptedProvider, options: dict[str, Any]
) -> None:
    called(wired, server, "503", times=FAILURES_TO_OPEN - 1)
    server.script("ok", **options)
    job = attempt(wired, wired.create())
    assert job.lifecycle_status == "failed"
    assert circuit_of() == ALMOST
    called(wired, server, "503")
    assert circuit_of().state == "open"


def test_a_cancelled_call_is_neutral(wired: World, server: ScriptedProvider) -> None:
    called(wired, server, "503", times=FAILURES_TO_OPEN - 1)
    job = wired.create()
    claimed = wired.claim()

    def cancelled(exchange: Any) -> None:
        rows("UPDATE ai_job SET cancel_requested_at = now() WHERE id = %(id)s", id=job.id)
        claimed.cut.cut(CutReason.CANCELLED)
        exchange.hold()

    assert claimed.job.id == job.id
    server.enqueue(cancelled)
    wired.run(claimed)
    assert wired.job(job.id).lifecycle_status == "cancelled"
    assert [call.state for call in books(job.id)] == ["cut"]
    assert circuit_of() == ALMOST


@pytest.mark.parametrize(("seconds", "failures"), [(1.5, 1), (0.3, 0)])
def test_a_time_out_counts_when_the_route_had_its_chance(
    wired: World, server: ScriptedProvider, seconds: float, failures: int
) -> None:
    """Of an attempt's 2 seconds: a call that began with little left says nothing of the route."""
    quiz = replace(wired.engine.registry.get("quiz_generation"), timeout_seconds=2)
    hasty = replace(wired, engine=replace(wired.engine, registry=Registry([quiz])))
    server.enqueue("silence")
    job = attempt(hasty, hasty.create(), seconds=seconds)
    assert books(job.id)[0].state == "cut"
    assert circuit_of().failures == failures


@pytest.mark.parametrize("knob", FAULTS)
def test_a_fault_of_the_platforms_account_opens_it_at_once(
    wired: World, server: ScriptedProvider, knob: str
) -> None:
    job = called(wired, server, knob)
    assert circuit_of() == Circuit("open", 1, 1)
    assert row_of()["cause"] == FAULTS[knob]
    assert changes() == [("circuit.open", "closed/0", "open/1")]
    assert (job.lifecycle_status, job.retry_count) == ("queued", 0)
    assert causes(job.id)[-1] == "hand_back:circuit"


@pytest.mark.parametrize(("knob", "probes"), [("402", 1), ("401", 1), ("503", PROBES)])
def test_it_is_tried_again_after_a_minute_and_not_before(
    wired: World, server: ScriptedProvider, knob: str, probes: int
) -> None:
    if knob == "503":
        called(wired, server, knob, times=FAILURES_TO_OPEN - 1)
    was = opened(wired, server, knob)
    time_passes(OPEN_SECONDS - 5)
    passed(wired)
    assert circuit_of() == was
    time_passes(5)
    passed(wired)
    assert (circuit_of().state, circuit_of().epoch) == ("half_open", 2)
    assert row_of()["probes"] == probes
    assert changes()[1:] == [("circuit.half_open", "open/1", "half_open/2")]
    passed(wired)
    assert len(changes()) == 2


def test_an_administrator_alone_may_open_it_half(wired: World, server: ScriptedProvider) -> None:
    settings = wired.engine.settings.model_copy(update={"circuit_by_itself": False})
    strict = replace(wired, engine=replace(wired.engine, settings=settings))
    was = opened(strict, server)
    time_passes(10 * OPEN_SECONDS)
    passed(strict)
    assert (circuit_of(), len(changes())) == (was, 1)


def test_one_success_closes_it(wired: World, server: ScriptedProvider) -> None:
    half_opened(wired, server)
    assert called(wired, server, "ok").lifecycle_status == "succeeded"
    assert circuit_of() == Circuit("closed", 3, 0)
    assert (row_of()["cause"], row_of()["opened_at"], row_of()["next_probe_at"]) == (None,) * 3
    assert changes()[2:] == [("circuit.closed", "half_open/2", "closed/3")]


@pytest.mark.parametrize("knob", ["503", "accept_then_reset", "402", "401"])
def test_one_failure_opens_it_again(wired: World, server: ScriptedProvider, knob: str) -> None:
    half_opened_by_failures(wired, server)
    job = called(wired, server, knob)
    assert (circuit_of().state, circuit_of().epoch) == ("open", 3)
    assert changes()[2:] == [("circuit.open", "half_open/2", "open/3")]
    assert (job.lifecycle_status, job.retry_count) == ("queued", 0)
    assert row_of()["cause"] == books(job.id)[-1].error_code
    waits = row_of()["next_probe_at"] - row_of()["opened_at"]
    assert waits.total_seconds() == OPEN_SECONDS


def test_use_beyond_the_bound_opens_it_again(wired: World, server: ScriptedProvider) -> None:
    half_opened(wired, server)
    job = called(wired, server, "ok", usage=BEYOND_BOUND)
    assert job.lifecycle_status == "succeeded"
    assert (circuit_of().state, circuit_of().epoch) == ("open", 3)


def test_use_beyond_the_bound_does_not_open_a_closed_one(
    wired: World, server: ScriptedProvider
) -> None:
    called(wired, server, "ok", usage=BEYOND_BOUND)
    assert circuit_of() == Circuit()


@pytest.mark.parametrize("knob", NEUTRAL)
def test_what_is_neutral_leaves_it_half_open(
    wired: World, server: ScriptedProvider, knob: str
) -> None:
    was = half_opened(wired, server)
    called(wired, server, knob, times=2)
    assert circuit_of() == was
    assert called(wired, server, "ok").lifecycle_status == "succeeded"
    assert circuit_of().state == "closed"


def test_a_whole_life_is_one_audit_row_a_change(wired: World, server: ScriptedProvider) -> None:
    half_opened(wired, server)
    called(wired, server, "503")
    time_passes()
    passed(wired)
    called(wired, server, "ok")
    called(wired, server, "ok")
    opened(wired, server, "401")
    assert changes() == [
        ("circuit.open", "closed/0", "open/1"),
        ("circuit.half_open", "open/1", "half_open/2"),
        ("circuit.open", "half_open/2", "open/3"),
        ("circuit.half_open", "open/3", "half_open/4"),
        ("circuit.closed", "half_open/4", "closed/5"),
        ("circuit.open", "closed/5", "open/6"),
    ]
    told = rows("SELECT DISTINCT target, who = '' AS nobody FROM admin_audit")
    assert told == [{"target": "scripted/deepseek-flash", "nobody": False}]


def test_a_change_of_one_route_leaves_the_others_alone(
    wired: World, server: ScriptedProvider
) -> None:
    rows("INSERT INTO platform_circuit (provider, model) VALUES ('scripted', 'another-model')")
    called(wired, server, "402")
    found = rows("SELECT model, state, epoch FROM platform_circuit ORDER BY model")
    assert [tuple(row.values()) for row in found] == [
        ("another-model", "closed", 0),
        ("deepseek-flash", "open", 1),
    ]
