"""What a circuit does not listen to: calls of an earlier epoch, lost leases, users' own keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import redis
from peewee import OperationalError

from aijobs.engine.gateway import OpenAIProvider
from aijobs.models import probes
from aijobs.models.lifecycle import requeue
from tests.integration.circuit.scene import (
    FAILURES_TO_OPEN,
    Circuit,
    called,
    changes,
    circuit_of,
    half_opened,
    opened,
    passed,
    time_passes,
)
from tests.integration.credentials.detour import Detour, add_key
from tests.integration.engine.seen import causes, events, rows, states
from tests.integration.engine.wire import attempt, books
from tests.integration.http.caller import Caller, caller
from tests.integration.models.states import created, expire_now
from tests.scripted_provider import ScriptedProvider
from tests.scripted_provider.knobs import behaviour
from tests.world import World

Work = Callable[[], Any]


def _other_process(wired: World) -> World:
    other = wired.other_process()
    return replace(other, engine=replace(other.engine, tiers=wired.engine.tiers))


def during_a_call(here: World, server: ScriptedProvider, work: Work, knob: str) -> Any:
    """A job whose call sees `work` done before it is answered so."""

    def play(exchange: Any) -> None:
        work()
        behaviour(knob)(exchange)

    rows("UPDATE ai_job SET available_at = now() + interval '1 day'")
    server.enqueue(play)
    job = created(here)
    claimed = here.claim()
    assert claimed.job.id == job.id
    here.run(claimed)
    return here.job(job.id)


def test_a_failure_that_opens_it_costs_no_retry_though_its_answer_is_lost(
    wired: World, server: ScriptedProvider
) -> None:
    """The connection breaks after the commit that has opened the circuit."""
    called(wired, server, "503", times=FAILURES_TO_OPEN - 1)
    lost = ["call_finished.after_commit"]

    def lose(point: str) -> None:
        if point in lost:
            lost.remove(point)
            raise OperationalError("the connection was lost")

    probes.install(lose)
    try:
        job = called(wired, server, "503")
    finally:
        probes.install(None)
    assert lost == []
    assert circuit_of() == Circuit("open", 1, FAILURES_TO_OPEN)
    assert causes(job.id)[-1] == "hand_back:circuit"
    assert wired.job(job.id).retry_count == 0


@pytest.mark.parametrize("knob", ["ok", "503", "401"])
def test_a_call_from_before_it_opened_changes_nothing(
    wired: World, server: ScriptedProvider, knob: str
) -> None:
    other = _other_process(wired)
    job = during_a_call(wired, server, lambda: opened(other, server), knob)
    assert circuit_of() == Circuit("open", 1, 1)
    assert len(changes()) == 1
    if knob == "ok":
        assert job.lifecycle_status == "succeeded"
    else:
        assert (job.lifecycle_status, job.retry_count) == ("queued", 0)
        assert causes(job.id)[-1] == "hand_back:circuit"


@pytest.mark.parametrize("knob", ["ok", "503", "401"])
def test_a_call_from_before_it_was_half_open_changes_nothing(
    wired: World, server: ScriptedProvider, knob: str
) -> None:
    other = _other_process(wired)
    during_a_call(wired, server, lambda: half_opened(other, server), knob)
    assert circuit_of() == Circuit("half_open", 2, 1)
    assert len(changes()) == 2


def test_a_probe_that_ends_after_its_epoch_changes_nothing(
    wired: World, server: ScriptedProvider
) -> None:
    """Two probes: the first opens it again, and the second's success comes too late."""
    called(wired, server, "503", times=FAILURES_TO_OPEN)
    time_passes()
    passed(wired)
    other = _other_process(wired)
    job = during_a_call(wired, server, lambda: called(other, server, "503"), "ok")
    assert job.lifecycle_status == "succeeded"
    assert (circuit_of().state, circuit_of().epoch) == ("open", 3)


@pytest.mark.parametrize("knob", ["402", "503"])
def test_a_lost_lease_records_nothing(wired: World, server: ScriptedProvider, knob: str) -> None:
    """The call is booked; whoever slept so long says nothing of the route."""
    called(wired, server, "503")
    was = circuit_of()

    job = during_a_call(wired, server, lambda: _lose_the_lease(wired), knob)
    assert (circuit_of(), changes()) == (was, [])
    assert states(job.id) == ["failed"]
    assert job.lifecycle_status == "queued"


def test_a_lost_lease_does_not_close_it(wired: World, server: ScriptedProvider) -> None:
    was = half_opened(wired, server)
    job = during_a_call(wired, server, lambda: _lose_the_lease(wired), "ok")
    assert circuit_of() == was
    assert [call.state for call in books(job.id)] == ["completed"]


def test_a_job_whose_route_closes_down_before_its_call_is_handed_back(
    wired: World, server: ScriptedProvider
) -> None:
    """Nobody waits under a lease, and it costs the job nothing: no call, no retry."""
    job = wired.create()
    claimed = wired.claim()
    other = _other_process(wired)
    opened(other, server)
    before = len(server.calls)
    wired.run(claimed)
    now = wired.job(job.id)
    assert (now.lifecycle_status, now.retry_count, now.call_count) == ("queued", 0, 0)
    assert causes(job.id) == ["create", "claim", "hand_back:circuit"]
    assert len(events(job.id)) == 2
    assert (len(server.calls), books(job.id)) == (before, [])


@pytest.fixture
def both(wired: World, server: ScriptedProvider) -> Iterator[World]:
    """The same world, whose users' own keys go to the same provider."""
    gateway = OpenAIProvider(5.0)
    yield replace(wired, engine=replace(wired.engine, gateway=Detour(gateway, server)))
    gateway.close()


@pytest.fixture
def me(both: World, redis_url: str) -> Iterator[Caller]:
    with redis.Redis.from_url(redis_url) as client:
        yield caller(both, both.user_id, client)


@pytest.mark.parametrize("knob", ["401", "402", "503"])
def test_a_users_key_tells_a_circuit_nothing(
    both: World, me: Caller, server: ScriptedProvider, knob: str
) -> None:
    for _ in range(FAILURES_TO_OPEN + 1):
        key = add_key(me)
        server.enqueue(knob)
        job = attempt(both, both.create(apiKeyMode="user_key", credentialId=str(key)))
        assert [call.state for call in books(job.id)] == ["failed"]
        assert books(job.id)[0].circuit_epoch is None
    assert (circuit_of(), changes()) == (Circuit(), [])


@pytest.mark.parametrize("state", ["open", "half_open"])
def test_a_circuit_does_not_keep_a_users_key_from_working(
    both: World, me: Caller, server: ScriptedProvider, state: str
) -> None:
    was = opened(both, server) if state == "open" else half_opened(both, server)
    key = str(add_key(me))
    jobs = [both.create(apiKeyMode="user_key", credentialId=key) for _ in range(3)]
    for job in jobs:
        assert attempt(both, job).lifecycle_status == "succeeded"
    assert circuit_of() == was


def _lose_the_lease(here: World) -> None:
    [running] = rows("SELECT id FROM ai_job WHERE lifecycle_status = 'running'")
    expire_now(here, running["id"])
    requeue(running["id"], delay_seconds=0)
