"""Two routes of one tier: a dead one stops nobody, is left alone, and comes back when well."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from aijobs.engine.gateway import OpenAIProvider
from tests.integration.circuit.scene import (
    FAILURES_TO_OPEN,
    Circuit,
    changes,
    circuit_of,
    passed,
    time_passes,
)
from tests.integration.engine.seen import causes
from tests.integration.engine.wire import attempt, over_the_wire, route_to
from tests.scripted_provider import ScriptedProvider
from tests.world import World


@pytest.fixture
def second() -> Iterator[ScriptedProvider]:
    with ScriptedProvider() as scripted:
        yield scripted


@pytest.fixture
def two(
    here: World, gateway: OpenAIProvider, server: ScriptedProvider, second: ScriptedProvider
) -> World:
    """First A (`server`), then B (`second`)."""
    return over_the_wire(here, gateway, route_to(server, "A"), route_to(second, "B"))


def _succeed(two: World, count: int) -> set[str]:
    """As many new jobs, one attempt each; who answered them."""
    done = [attempt(two, two.create()) for _ in range(count)]
    assert {(job.lifecycle_status, job.retry_count) for job in done} == {("succeeded", 0)}
    return {str(job.model_provider) for job in done}


@pytest.mark.parametrize("knob", ["503", "402", "401"])
def test_a_dead_route_stops_nobody_and_is_called_no_more_than_it_takes(
    two: World, server: ScriptedProvider, second: ScriptedProvider, knob: str
) -> None:
    server.script(knob)
    count = FAILURES_TO_OPEN + 5
    assert _succeed(two, count) == {"B"}
    assert len(server.calls) == (FAILURES_TO_OPEN if knob == "503" else 1)
    assert len(second.calls) == count
    assert (circuit_of("A").state, circuit_of("B")) == ("open", Circuit())


def test_a_dead_route_is_tried_again_by_jobs_that_succeed_elsewhere(
    two: World, server: ScriptedProvider, second: ScriptedProvider
) -> None:
    server.script("402")
    _succeed(two, 3)
    for epoch in (3, 5):
        before = len(server.calls)
        time_passes()
        passed(two)
        assert _succeed(two, 3) == {"B"}
        assert len(server.calls) == before + 1
        assert (circuit_of("A").state, circuit_of("A").epoch) == ("open", epoch)
    server.script("ok")
    time_passes()
    passed(two)
    assert _succeed(two, 1) == {"A"}
    assert (circuit_of("A").state, circuit_of("B")) == ("closed", Circuit())
    assert _succeed(two, 3) == {"A"}
    assert [what for what, _, _ in changes()][-2:] == ["circuit.half_open", "circuit.closed"]


def test_when_all_are_dead_a_job_waits_and_one_that_is_well_is_enough(
    two: World, server: ScriptedProvider, second: ScriptedProvider
) -> None:
    """Who probes A has no place among B's probes, although both circuits are in the same epoch."""
    server.script("402")
    second.script("401")
    job = attempt(two, two.create())
    assert (job.lifecycle_status, job.retry_count) == ("queued", 0)
    assert causes(job.id)[-1] == "hand_back:circuit"
    assert (circuit_of("A").state, circuit_of("B").state) == ("open", "open")
    second.script("ok")
    time_passes()
    passed(two)
    job = attempt(two, job)
    assert (job.lifecycle_status, job.retry_count) == ("queued", 0)
    assert circuit_of("A") == Circuit("open", 3, 1)
    assert circuit_of("B") == Circuit("half_open", 2, 1)
    assert len(second.calls) == 1
    job = attempt(two, job)
    assert (job.lifecycle_status, job.model_provider, job.retry_count) == ("succeeded", "B", 0)
    assert (circuit_of("A").state, circuit_of("B").state) == ("open", "closed")


def test_a_tier_whose_own_route_is_sound_does_not_wait_for_another_tiers(
    two: World, server: ScriptedProvider
) -> None:
    a, b = two.engine.tiers["standard"]
    server.script("402")
    on_a = replace(two, engine=replace(two.engine, tiers={"standard": (a,)}))
    attempt(on_a, on_a.create())
    assert circuit_of("A").state == "open"
    on_b = replace(two, engine=replace(two.engine, tiers={"standard": (b,)}))
    assert _succeed(on_b, 1) == {"B"}
