"""Two routes of one tier: when the second is asked, who has the last word, what it costs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from aijobs.engine.engine import build_engine
from aijobs.engine.gateway import OpenAIProvider
from aijobs.engine.settings import Settings
from tests.integration.engine.seen import forget_circuits
from tests.integration.engine.wire import (
    KEY,
    TOLD,
    attempt,
    books,
    bound,
    causes,
    over_the_wire,
    route_to,
    tokens,
)
from tests.scripted_provider import ScriptedProvider
from tests.world import World


@pytest.fixture
def second() -> Iterator[ScriptedProvider]:
    """The provider of the second route."""
    with ScriptedProvider() as scripted:
        yield scripted


@pytest.fixture
def two(
    here: World, gateway: OpenAIProvider, server: ScriptedProvider, second: ScriptedProvider
) -> World:
    """A world with two routes, the first to `server`, then to `second`."""
    return over_the_wire(here, gateway, route_to(server, "first"), route_to(second, "second"))


def test_a_fault_that_another_try_may_help_goes_to_the_next_route_within_the_attempt(
    two: World, server: ScriptedProvider, second: ScriptedProvider, subtests: pytest.Subtests
) -> None:
    """Also one of the route's account: the next route has an account of its own."""
    for knob, code in {
        "accept_then_reset": "PROVIDER_TIMEOUT",
        "429": "PROVIDER_RATE_LIMITED",
        "503": "PROVIDER_UNAVAILABLE",
        "html_200": "PROVIDER_UNAVAILABLE",
        "401": "CREDENTIAL_INVALID",
        "402": "PROVIDER_ACCOUNT",
    }.items():
        with subtests.test(knob=knob):
            forget_circuits()
            server.calls.clear()
            second.calls.clear()
            server.script(knob)
            job = attempt(two, two.create())
            assert (job.lifecycle_status, job.retry_count, job.attempt_no) == ("succeeded", 0, 1)
            first, then = books(job.id)
            assert (first.provider, first.state, first.error_code) == ("first", "failed", code)
            assert (then.provider, then.state, then.error_code) == ("second", "completed", None)
            assert (first.attempt_no, first.call_no, then.attempt_no, then.call_no) == (1, 1, 1, 2)
            assert first.request_hash == then.request_hash
            assert (then.input_tokens, then.cached_tokens, then.output_tokens) == TOLD
            assert (job.model_provider, job.model_name) == ("second", "deepseek-flash")
            assert (len(server.calls), len(second.calls)) == (1, 1)
            assert server.calls[0].body["messages"] == second.calls[0].body["messages"]


def test_a_fault_of_the_request_does_not_go_to_another_route(
    two: World, server: ScriptedProvider, second: ScriptedProvider, subtests: pytest.Subtests
) -> None:
    for knob, code in {
        "400": "PROVIDER_BAD_REQUEST",
        "422": "PROVIDER_BAD_REQUEST",
        "risk_400": "CONTENT_SAFETY_BLOCKED",
        "refusal": "CONTENT_SAFETY_BLOCKED",
    }.items():
        with subtests.test(knob=knob):
            server.script(knob)
            job = attempt(two, two.create())
            assert (job.lifecycle_status, job.error_code) == ("failed", code)
            assert [row.provider for row in books(job.id)] == ["first"]
    assert second.calls == []


def test_the_last_routes_fault_decides(
    two: World, server: ScriptedProvider, second: ScriptedProvider, subtests: pytest.Subtests
) -> None:
    for first, last, expected in (
        ("503", "429", ("queued", 1, "PROVIDER_RATE_LIMITED", "release_for_retry")),
        ("429", "400", ("failed", 0, "PROVIDER_BAD_REQUEST", "fail")),
        ("503", "402", ("queued", 0, None, "hand_back:circuit")),
        ("402", "503", ("queued", 1, "PROVIDER_UNAVAILABLE", "release_for_retry")),
    ):
        with subtests.test(first=first, last=last):
            forget_circuits()
            server.script(first)
            second.script(last)
            job = attempt(two, two.create())
            ended = (job.lifecycle_status, job.retry_count, job.error_code, causes(job.id)[-1])
            assert ended == expected
            assert [row.provider for row in books(job.id)] == ["first", "second"]


def test_a_retry_begins_with_the_first_route_again(
    two: World, server: ScriptedProvider, second: ScriptedProvider
) -> None:
    server.enqueue("503")
    second.enqueue("503")
    job = two.create()
    attempt(two, job)
    job = attempt(two, job)
    assert (job.lifecycle_status, job.retry_count) == ("succeeded", 1)
    assert [(row.provider, row.attempt_no) for row in books(job.id)] == [
        ("first", 1),
        ("second", 1),
        ("first", 2),
    ]


def test_the_deadline_bounds_both_routes_together(
    two: World, server: ScriptedProvider, second: ScriptedProvider
) -> None:
    server.script("page", status=503, seconds=0.3)
    second.script("silence")
    job = attempt(two, two.create(), seconds=1.0)
    assert (job.lifecycle_status, job.error_code) == ("queued", "JOB_TIMEOUT")
    assert [row.state for row in books(job.id)] == ["failed", "cut"]
    (call,) = second.calls
    assert call.peer_closed.wait(30)
    assert tokens(books(job.id)[1]) == (*bound(call), True)


def test_a_first_route_that_takes_all_the_time_leaves_none_for_the_second(
    two: World, server: ScriptedProvider, second: ScriptedProvider
) -> None:
    server.script("silence")
    job = attempt(two, two.create(), seconds=0.5)
    assert (job.lifecycle_status, job.error_code) == ("queued", "JOB_TIMEOUT")
    assert [row.provider for row in books(job.id)] == ["first"]
    assert second.calls == []


def test_the_routes_of_the_settings_are_the_routes_of_the_engine(
    server: ScriptedProvider, second: ScriptedProvider
) -> None:
    def route(name: str, url: str, **more: Any) -> dict[str, Any]:
        told = {"provider": name, "model": "m", "baseUrl": url, "apiKeyVariable": "SOME_KEY"}
        return {**told, **more}

    routes = [route("first", server.base_url), route("second", second.base_url, tier="large")]
    settings = Settings.from_env(
        {
            "DATABASE_URL": "postgresql://unused",
            "REDIS_URL": "redis://unused",
            "AIJOBS_PROVIDER": "openai",
            "AIJOBS_ROUTES": json.dumps(routes),
            "SOME_KEY": KEY,
        }
    )
    engine = build_engine(settings)
    assert [(r.provider, r.base_url, r.api_key) for r in engine.routes("standard")] == [
        ("first", server.base_url, KEY)
    ]
    assert [r.provider for r in engine.routes("large")] == ["second"]
    assert KEY not in repr(engine)
