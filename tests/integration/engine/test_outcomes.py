"""How an attempt ends decides its edge: retry, failure, hand-back, cancel, or nothing at all."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
import structlog

from aijobs.engine import stages
from aijobs.engine.chat import ChatRequest, Reply, Route
from aijobs.engine.cut import Cut, CutReason
from aijobs.engine.errors import ERRORS, JobFault
from aijobs.engine.job_types import BUILTIN
from aijobs.engine.registry import Registry
from aijobs.models import probes
from aijobs.models.lifecycle import request_cancel
from tests.integration.engine.seen import calls, causes, events, rows, states, wait_seconds
from tests.scripted_provider import ScriptedProvider
from tests.world import World, whole_database

OF_THE_ACCOUNT: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("401", {}, "CREDENTIAL_INVALID"),
    ("403", {}, "CREDENTIAL_INVALID"),
    ("402", {}, "PROVIDER_ACCOUNT"),
    ("429_no_money", {}, "PROVIDER_ACCOUNT"),
    ("404_html", {}, "PROVIDER_ACCOUNT"),
    ("redirect_302", {}, "PROVIDER_ACCOUNT"),
    ("bad_model_400", {}, "PROVIDER_ACCOUNT"),
)


def _run(world: World, job_id: UUID) -> None:
    attempt = world.claim()
    assert attempt.job.id == job_id
    world.run(attempt)


def _types(world: World, **changes: Any) -> World:
    """The same world, whose job types have these fields."""
    types = [replace(definition, **changes) for definition in BUILTIN]
    return replace(world, engine=replace(world.engine, registry=Registry(types)))


def test_a_type_without_retries_fails_at_once(wired: World, server: ScriptedProvider) -> None:
    firm = _types(wired, max_retries=0)
    server.script("503")
    job_id = firm.create().id
    _run(firm, job_id)
    assert firm.job(job_id).lifecycle_status == "failed"


class _Bug:
    """A provider with a fault of ours in it."""

    def complete(self, route: Route, request: ChatRequest, cut: Cut) -> Reply:
        raise ZeroDivisionError("a bug with a /path")


def test_a_bug_of_ours_is_tried_again_once(wired: World, server: ScriptedProvider) -> None:
    broken = wired.with_provider(_Bug())
    job_id = broken.create().id
    _run(broken, job_id)
    job = broken.job(job_id)
    assert (job.lifecycle_status, job.error_code) == ("queued", "INTERNAL_ERROR")
    assert (job.retry_count, job.internal_retry_count) == (1, 1)
    assert "ZeroDivisionError" in (job.internal_error_message or "")
    assert job.public_error_message == ERRORS["INTERNAL_ERROR"].en
    broken.make_due(job_id)
    _run(broken, job_id)
    job = broken.job(job_id)
    assert (job.lifecycle_status, job.error_code) == ("failed", "INTERNAL_ERROR")
    assert (job.retry_count, job.internal_retry_count) == (1, 1)


def test_a_bug_leaves_the_other_retries_to_other_faults(
    wired: World, server: ScriptedProvider
) -> None:
    broken = wired.with_provider(_Bug())
    server.enqueue("503")
    job_id = broken.create().id
    _run(broken, job_id)
    wired.make_due(job_id)
    _run(wired, job_id)
    job = wired.job(job_id)
    assert (job.lifecycle_status, job.retry_count, job.internal_retry_count) == ("queued", 2, 1)
    wired.make_due(job_id)
    _run(wired, job_id)
    assert wired.job(job_id).lifecycle_status == "succeeded"
    assert states(job_id) == ["unknown", "failed", "completed"]


@pytest.mark.parametrize(("on_timeout", "status"), [("retry", "queued"), ("fail", "failed")])
@pytest.mark.parametrize("knob", ["silence", "keep_alive_blank_lines", "mid_stream_silence"])
def test_execution_time_that_is_up_follows_the_definition(
    wired: World, server: ScriptedProvider, on_timeout: str, status: str, knob: str
) -> None:
    world = _types(wired, on_timeout=on_timeout)
    server.enqueue(knob)
    job_id = world.create().id
    attempt = world.claim()
    attempt.cut = Cut(time.monotonic() + 0.5)
    world.run(attempt)
    job = world.job(job_id)
    assert (job.lifecycle_status, job.error_code) == (status, "JOB_TIMEOUT")
    assert job.public_error_message == ERRORS["JOB_TIMEOUT"].en
    assert server.calls[0].peer_closed.wait(30)
    (call,) = calls(job_id)
    assert (call.state, call.estimated) == ("cut", True)
    assert call.input_tokens


def test_no_call_begins_after_the_time_is_up(wired: World, server: ScriptedProvider) -> None:
    job_id = wired.create().id
    attempt = wired.claim()
    attempt.cut = Cut(time.monotonic())
    wired.run(attempt)
    assert wired.job(job_id).error_code == "JOB_TIMEOUT"
    assert (server.calls, calls(job_id)) == ([], [])


def test_a_validated_result_is_never_thrown_away_for_time(wired: World) -> None:
    job_id = wired.create().id
    attempt = wired.claim()

    def late(point: str) -> None:
        if point == "execute.after_commit":
            attempt.cut = Cut(time.monotonic())

    probes.install(late)
    try:
        wired.run(attempt)
    finally:
        probes.install(None)
    assert attempt.cut.remaining() == 0
    assert wired.job(job_id).lifecycle_status == "succeeded"


def test_a_shutdown_hands_back_without_counting_a_retry(
    wired: World, server: ScriptedProvider
) -> None:
    job_id = wired.create().id
    for count in range(1, 6):
        attempt = wired.claim()
        attempt.cut.cut(CutReason.SHUTDOWN)
        wired.run(attempt)
        job = wired.job(job_id)
        assert (job.lifecycle_status, job.retry_count) == ("queued", 0)
        assert job.hand_back_count == count
        assert wait_seconds(job) <= 0, "another worker may take it at once"
        assert job.error_code is None
    attempt = wired.claim()
    attempt.cut.cut(CutReason.SHUTDOWN)
    wired.run(attempt)
    job = wired.job(job_id)
    assert (job.lifecycle_status, job.retry_count, job.hand_back_count) == ("queued", 1, 5)
    assert causes(job_id)[-1] == "release_for_retry"
    assert server.calls == []


def test_a_cancelled_attempt_is_confirmed(wired: World, server: ScriptedProvider) -> None:
    job_id = wired.create().id
    attempt = wired.claim()
    request_cancel(job_id, reason="test")
    attempt.cut.cut(CutReason.CANCELLED)
    wired.run(attempt)
    job = wired.job(job_id)
    assert (job.lifecycle_status, job.error_code) == ("cancelled", "JOB_CANCELLED")
    assert causes(job_id)[-1] == "confirm_cancel"
    assert events(job_id)[-1] == "ai.job.cancelled:job"
    assert server.calls == []


@pytest.mark.parametrize("knob", ["503", "401", "400"])
def test_nothing_is_tried_again_once_a_cancel_is_requested(
    wired: World, server: ScriptedProvider, knob: str
) -> None:
    """The holder has not heard of it yet: its retry, hand-back or failure becomes the cancel."""
    server.enqueue(knob)
    job_id = wired.create().id
    attempt = wired.claim()
    request_cancel(job_id, reason="test")
    wired.run(attempt)
    job = wired.job(job_id)
    assert (job.lifecycle_status, job.retry_count) == ("cancelled", 0)
    assert job.cancel_reason == "test"


def test_a_shutdown_after_a_cancel_request_is_the_cancel(wired: World) -> None:
    job_id = wired.create().id
    attempt = wired.claim()
    request_cancel(job_id, reason="test")
    attempt.cut.cut(CutReason.SHUTDOWN)
    wired.run(attempt)
    assert wired.job(job_id).lifecycle_status == "cancelled"


def test_a_cancel_that_nobody_requested_cancels_nothing(wired: World) -> None:
    """A wake-up has no authority: without a request in the row the job goes on elsewhere."""
    job_id = wired.create().id
    attempt = wired.claim()
    attempt.cut.cut(CutReason.CANCELLED)
    wired.run(attempt)
    job = wired.job(job_id)
    assert (job.lifecycle_status, job.retry_count, job.hand_back_count) == ("queued", 0, 0)
    assert causes(job_id)[-1] == "hand_back:infrastructure"
    wired.run(wired.claim())
    assert wired.job(job_id).lifecycle_status == "succeeded"


@pytest.mark.parametrize("knob", ["ok", "503", "400", "401", "finish_reason"])
def test_a_lost_lease_writes_nothing_but_its_own_call(
    wired: World, server: ScriptedProvider, knob: str
) -> None:
    """Taken over while the call is under way: whatever comes back, only its row is completed."""
    options = {"text": "not JSON"} if knob == "finish_reason" else {}
    server.enqueue(knob, **options)
    job_id = wired.create().id
    attempt = wired.claim()
    taken: dict[str, list[str]] = {}

    def take_over(point: str) -> None:
        if point == "provider_call.after_send" and not taken:
            probes.install(None)
            rows(
                "UPDATE ai_job SET lifecycle_status = 'queued', locked_by = NULL, "
                "locked_at = NULL, lock_until = NULL WHERE id = %(id)s",
                id=job_id,
            )
            assert wired.other_process().claim().job.id == job_id
            taken.update(whole_database())

    probes.install(take_over)
    try:
        wired.run(attempt)
    finally:
        probes.install(None)
    after = whole_database()
    assert len(server.calls) == 1
    assert {name for name in after if after[name] != taken[name]} == {"ai_usage_log"}
    (call,) = calls(job_id)
    assert call.attempt_no == 1
    assert call.state == ("completed" if knob in ("ok", "finish_reason") else "failed")
    assert wired.job(job_id).attempt_no == 2


def test_a_lease_lost_before_the_call_means_no_call(wired: World, server: ScriptedProvider) -> None:
    job_id = wired.create().id
    attempt = wired.claim()
    rows(
        "UPDATE ai_job SET lifecycle_status = 'queued', locked_by = NULL, locked_at = NULL, "
        "lock_until = NULL WHERE id = %(id)s",
        id=job_id,
    )
    wired.other_process().claim()
    before = whole_database()
    wired.run(attempt)
    assert whole_database() == before
    assert server.calls == []


def test_an_unknown_version_is_handed_back(wired: World, server: ScriptedProvider) -> None:
    """A process that forgets a type between claim and RESOLVE (never, but cheap to be sure)."""
    job_id = wired.create().id
    attempt = wired.claim()
    ignorant = replace(wired, engine=replace(wired.engine, registry=Registry([BUILTIN[0]])))
    ignorant.run(attempt)
    job = wired.job(job_id)
    assert (job.lifecycle_status, job.retry_count) == ("queued", 0)
    assert causes(job_id)[-1] == "hand_back:version"
    assert 0 < wait_seconds(job) <= 30
    assert server.calls == []


def test_a_bug_in_settling_leaves_no_job_held_by_nobody(
    wired: World, server: ScriptedProvider
) -> None:
    """Here the fault's definition is not known: a stand-in for any bug on the way to the edge."""
    job_id = wired.create().id
    attempt = wired.claim()
    ignorant = replace(wired.engine, registry=Registry())
    with structlog.testing.capture_logs() as logs:
        stages.settle(ignorant, attempt, stages.Fault(JobFault("PROVIDER_TIMEOUT")))
    job = wired.job(job_id)
    assert (job.lifecycle_status, job.retry_count, job.locked_by) == ("queued", 0, None)
    assert causes(job_id)[-1] == "hand_back:infrastructure"
    assert [line["event"] for line in logs] == ["settle_failed"]
