"""Who waits for a circuit is told so, and is woken when it closes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest
import redis
from peewee import DatabaseError

from aijobs.models import database as db
from aijobs.models import probes
from tests.integration.circuit.scene import (
    FAILURES_TO_OPEN,
    called,
    circuit_of,
    half_opened,
    opened,
    passed,
    row_of,
    time_passes,
)
from tests.integration.engine.seen import rows
from tests.integration.engine.wire import MODEL
from tests.integration.http.caller import Caller, caller
from tests.integration.models.states import created
from tests.scripted_provider import ScriptedProvider
from tests.world import World

WAITING = 250
SPREAD_SECONDS = 5.0


@pytest.fixture
def me(wired: World, redis_url: str) -> Iterator[Caller]:
    with redis.Redis.from_url(redis_url) as client:
        yield caller(wired, wired.user_id, client)


def _waits(me: Caller, job_id: UUID) -> dict[str, Any]:
    answer = me.get(f"/jobs/{job_id}").json
    assert answer["lifecycleStatus"] == "queued"
    waiting: dict[str, Any] = answer["waitingFor"]
    return waiting


def _moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def _near(text: str, moment: dt.datetime) -> bool:
    """Answers tell times to the millisecond."""
    return abs(_moment(text) - moment) < dt.timedelta(milliseconds=2)


def _ready_hints() -> list[dict[str, Any]]:
    """The hints of queued jobs that no relay has sent yet, and in how many seconds they are due."""
    return rows(
        "SELECT aggregate_id, extract(epoch FROM event.available_at - clock_timestamp()) AS due_in "
        "FROM outbox_event event WHERE event_type = 'ai.job.enqueue' AND status = 'pending'"
    )


def _all_hints_are_sent() -> None:
    rows("UPDATE outbox_event SET status = 'published', published_at = now()")


def test_a_job_from_before_waits_since_it_opened(
    wired: World, me: Caller, server: ScriptedProvider
) -> None:
    job = created(wired)
    assert _waits(me, job.id)["reason"] == "queue"
    opened(wired, server)
    rows("UPDATE ai_job SET available_at = now()")
    waiting = _waits(me, job.id)
    assert waiting["reason"] == "circuit_open"
    assert _near(waiting["since"], row_of()["opened_at"])
    assert waiting["detail"].startswith("the AI service is out of order")


def test_a_job_made_while_it_is_open_waits_since_it_was_made(
    wired: World, me: Caller, server: ScriptedProvider
) -> None:
    opened(wired, server)
    job = created(wired)
    waiting = _waits(me, job.id)
    assert waiting["reason"] == "circuit_open"
    assert _near(waiting["since"], job.created_at)


def test_a_job_that_was_handed_back_waits_for_its_circuit(
    wired: World, me: Caller, server: ScriptedProvider
) -> None:
    job = called(wired, server, "402")
    waiting = _waits(me, job.id)
    assert waiting["reason"] == "circuit_open"
    assert _near(waiting["since"], row_of()["opened_at"])


def test_half_open_waits_for_the_circuit_while_its_probes_are_taken(
    wired: World, me: Caller, server: ScriptedProvider
) -> None:
    half_opened(wired, server)
    rows("UPDATE ai_job SET available_at = now()")
    wired.claim()
    job = created(wired)
    assert _waits(me, job.id)["reason"] == "circuit_open"


def test_another_routes_circuit_is_nobodys_reason_and_nobodys_since(
    wired: World, me: Caller, server: ScriptedProvider
) -> None:
    job = created(wired)
    other = "SELECT circuit_record('other', %(m)s, 0, 'fault', 'PROVIDER_ACCOUNT', 'test', 10, 60)"
    rows(other, m=MODEL)
    assert _waits(me, job.id)["reason"] == "queue"
    opened(wired, server)
    rows("UPDATE ai_job SET available_at = now()")
    rows("UPDATE platform_circuit SET opened_at = now() + interval '1 s' WHERE provider = 'other'")
    waiting = _waits(me, job.id)
    assert waiting["reason"] == "circuit_open"
    assert _near(waiting["since"], row_of()["opened_at"])


def test_no_key_of_the_users_own_waits_for_a_circuit(
    wired: World, me: Caller, server: ScriptedProvider
) -> None:
    opened(wired, server)
    job = created(wired, credential_mode="user_key")
    assert _waits(me, job.id)["reason"] == "queue"


def test_when_it_closes_everyone_is_woken_in_batches_and_not_all_at_once(
    wired: World, server: ScriptedProvider
) -> None:
    """250 jobs, of which the process that closes it wakes a batch and the passes the rest."""
    half_opened(wired, server)
    waiting = {created(wired).id for _ in range(WAITING)}
    passed(wired)
    rows("UPDATE ai_job SET dispatched_at = now() - interval '1 s'")
    _all_hints_are_sent()
    called(wired, server, "ok")
    assert circuit_of().state == "closed"
    # `called` has put the others off, to be the one that is claimed.
    rows("UPDATE ai_job SET available_at = now() WHERE lifecycle_status = 'queued'")
    passed(wired)
    hints = [hint for hint in _ready_hints() if hint["aggregate_id"] in waiting]
    assert len(hints) == len(waiting)
    assert {hint["aggregate_id"] for hint in hints} == waiting
    due = sorted(float(hint["due_in"]) for hint in hints)
    assert due[-1] <= SPREAD_SECONDS
    assert due[-1] - due[0] > SPREAD_SECONDS / 2
    for start in range(0, WAITING - 50, 50):
        assert due[start + 50] - due[start] < SPREAD_SECONDS / 2
    before = len(_ready_hints())
    passed(wired)
    assert len(_ready_hints()) == before


def test_the_call_that_closes_it_wakes_the_first_by_itself(
    wired: World, server: ScriptedProvider
) -> None:
    half_opened(wired, server)
    probe = created(wired)
    waiting = [created(wired).id for _ in range(3)]
    rows("UPDATE ai_job SET available_at = now(), dispatched_at = now() - interval '1 s'")
    _all_hints_are_sent()
    claimed = wired.claim()
    wired.run(claimed)
    assert circuit_of().state == "closed"
    woken = {hint["aggregate_id"] for hint in _ready_hints()}
    assert woken >= {job for job in [*waiting, probe.id] if job != claimed.job.id}


def test_a_probe_whose_waking_of_others_fails_ends_well(
    wired: World, server: ScriptedProvider
) -> None:
    """Its connection is killed there: whom it did not wake, the pass does."""
    half_opened(wired, server)
    probe, other = created(wired), created(wired)
    rows("UPDATE ai_job SET dispatched_at = now() - interval '1 s'")
    rows("UPDATE ai_job SET available_at = now() WHERE id = %(id)s", id=probe.id)
    killed = 0

    def kill(point: str) -> None:
        nonlocal killed
        if point == "circuit_wake.before_commit":
            killed += 1
            with suppress(DatabaseError):
                db.rows("SELECT pg_terminate_backend(pg_backend_pid())")

    claimed = wired.claim()
    probes.install(kill)
    try:
        wired.run(claimed)
    finally:
        probes.install(None)
    assert killed > 1
    assert circuit_of().state == "closed"
    assert wired.job(claimed.job.id).lifecycle_status == "succeeded"
    _all_hints_are_sent()
    passed(wired)
    assert {hint["aggregate_id"] for hint in _ready_hints()} & {probe.id, other.id}


def test_while_it_is_open_nobody_is_woken(wired: World, server: ScriptedProvider) -> None:
    for _ in range(3):
        created(wired)
    opened(wired, server)
    rows("UPDATE ai_job SET available_at = now(), dispatched_at = now() - interval '1 s'")
    _all_hints_are_sent()
    assert passed(wired) == 0
    assert _ready_hints() == []


def test_when_it_is_tried_again_somebody_is_woken(wired: World, server: ScriptedProvider) -> None:
    """Otherwise nobody would probe it before the sweep."""
    called(wired, server, "503", times=FAILURES_TO_OPEN)
    rows("UPDATE ai_job SET available_at = now(), dispatched_at = now() - interval '1 s'")
    _all_hints_are_sent()
    time_passes()
    passed(wired)
    assert circuit_of().state == "half_open"
    assert len(_ready_hints()) > 0


def test_another_routes_circuit_wakes_nobody(wired: World, server: ScriptedProvider) -> None:
    """Half open without traffic, it would hint all others' jobs every minute."""
    for _ in range(3):
        created(wired)
    rows(
        "INSERT INTO platform_circuit (provider, model, state, epoch, probes, changed_at) "
        "VALUES ('other', %(m)s, 'half_open', 2, 2, now() - interval '1 hour')",
        m=MODEL,
    )
    rows("UPDATE ai_job SET dispatched_at = now() - interval '70 s'")
    _all_hints_are_sent()
    assert passed(wired) == 0
    assert _ready_hints() == []


@pytest.mark.parametrize("knob", ["400", "refusal"])
def test_when_a_probe_has_said_nothing_somebody_else_is_woken(
    wired: World, server: ScriptedProvider, knob: str
) -> None:
    """Otherwise it would stay half open, and everybody out, until the sweep."""
    half_opened(wired, server)
    waiting = [created(wired).id for _ in range(3)]
    passed(wired)
    called(wired, server, knob)
    assert circuit_of().state == "half_open"
    _all_hints_are_sent()
    rows("UPDATE ai_job SET available_at = now() WHERE lifecycle_status = 'queued'")
    passed(wired)
    assert _ready_hints() == []
    _a_minute_passes()
    passed(wired)
    assert {hint["aggregate_id"] for hint in _ready_hints()} >= set(waiting)
    before = len(_ready_hints())
    passed(wired)
    assert len(_ready_hints()) == before


def _a_minute_passes() -> None:
    rows("UPDATE platform_circuit SET changed_at = changed_at - interval '60 s'")
    rows(
        "UPDATE ai_job SET dispatched_at = dispatched_at - interval '60 s' "
        "WHERE lifecycle_status = 'queued'"
    )
