"""The heartbeat: what it renews, what it knows for lost, what it learns."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from aijobs.models import database as db
from aijobs.models.lifecycle import Lease, expire, lapsed, renew, request_cancel, succeed
from aijobs.models.lifecycle.lease import Renewal
from tests.integration.models.edges import nothing_changes
from tests.integration.models.states import (
    STATES,
    expire_now,
    job_in,
    running,
    sql,
    take_over,
)
from tests.world import World


def _left() -> float:
    """Seconds left of the one lease."""
    row = sql("SELECT extract(epoch FROM lock_until - now())::float AS left FROM ai_job")[0]
    return float(row["left"])


def test_a_beat_extends_every_lease_of_the_process(here: World) -> None:
    leases = [running(here) for _ in range(3)]
    sql("UPDATE ai_job SET lock_until = now() + interval '1 s'")
    ids = frozenset(lease.job_id for lease in leases)
    assert renew(leases, 60) == Renewal(ids, frozenset(), frozenset())
    short = sql("SELECT id FROM ai_job WHERE lock_until < now() + interval '55 s'")
    assert short == []


@pytest.mark.parametrize("state", ["locked", "running"])
def test_a_lease_that_has_lapsed_and_was_not_reaped_is_renewed(here: World, state: str) -> None:
    lease = job_in(here, state)
    here.lapse(lease.job_id)
    assert renew([lease], 60).renewed == {lease.job_id}
    assert 50 < _left() <= 60


def test_a_beat_changes_nothing_but_the_lease(here: World) -> None:
    lease = running(here)
    before = sql("SELECT * FROM ai_job")[0]
    renew([lease], 500)
    after = sql("SELECT * FROM ai_job")[0]
    changed = {name for name in after if after[name] != before[name]}
    assert changed <= {"lock_until", "updated_at"}
    assert sql("SELECT count(*) AS n FROM job_transition") == [{"n": 2}]


def test_a_beat_learns_of_a_cancel(here: World) -> None:
    asked, other = running(here), running(here)
    request_cancel(asked.job_id, reason="user")
    renewal = renew([asked, other], 60)
    assert renewal.cancel_requested == {asked.job_id}
    assert renewal.renewed == {asked.job_id, other.job_id}


@pytest.mark.parametrize("state", sorted(set(STATES) - {"locked", "running"}))
def test_a_job_that_is_held_no_more_is_lost(here: World, state: str) -> None:
    lease = job_in(here, state)
    with nothing_changes():
        assert renew([lease], 60) == Renewal(frozenset(), frozenset([lease.job_id]), frozenset())


def test_a_job_that_is_gone_is_lost(here: World) -> None:
    missing = Lease(uuid4(), 1, here.engine.holder)
    assert renew([missing], 60).lost == {missing.job_id}


def test_an_attempt_of_before_is_lost_though_the_process_holds_the_job_again(here: World) -> None:
    first = running(here)
    second = take_over(here, first.job_id)
    assert renew([first], 60).lost == {first.job_id}
    assert renew([second], 60).renewed == {first.job_id}


def test_another_process_renews_nothing(here: World) -> None:
    lease = running(here)
    with nothing_changes():
        other = Lease(lease.job_id, lease.attempt_no, "somebody:1:else")
        assert renew([other], 60).lost == {lease.job_id}


def _while_busy(lease: Lease, beat: Any) -> Any:
    """What `beat` returns while another connection has the job's row locked."""
    with ThreadPoolExecutor(1) as pool:

        def work() -> Any:
            db.rows("SELECT 1 FROM ai_job WHERE id = %(id)s FOR UPDATE", {"id": lease.job_id})
            return pool.submit(beat).result(timeout=30)

        return db.transact("project", work)


def test_a_busy_row_is_neither_renewed_nor_lost(here: World) -> None:
    busy, free = running(here), running(here)
    renewal = _while_busy(busy, lambda: renew([busy, free], 60))
    assert renewal == Renewal(frozenset([free.job_id]), frozenset(), frozenset())
    assert renew([busy, free], 60).renewed == {busy.job_id, free.job_id}


def test_a_row_whose_end_is_not_committed_is_not_lost_yet(here: World) -> None:
    lease = running(here)
    with ThreadPoolExecutor(1) as pool:

        def work() -> Renewal:
            succeed(lease, output_hash="1" * 64)
            return pool.submit(renew, [lease], 60).result(timeout=30)

        assert db.transact("project", work) == Renewal(frozenset(), frozenset(), frozenset())
    assert renew([lease], 60).lost == {lease.job_id}


def test_a_beat_needs_no_connection_of_the_pool(here: World) -> None:
    """The heartbeat's thread has one of its own, and leaves it as it was."""
    lease = running(here)
    with db.reserved_connection():
        assert renew([lease], 60).renewed == {lease.job_id}
    assert db.read(lambda: db.row("SELECT 1 AS one")) == {"one": 1}


# What the reaper looks at.


def test_the_longest_lapsed_come_first_and_healthy_ones_not_at_all(here: World) -> None:
    healthy, late, later = (running(here) for _ in range(3))
    here.lapse(late.job_id, 100)
    here.lapse(later.job_id, 200)
    assert lapsed(grace_seconds=30, limit=10) == [
        (later.job_id, "running"),
        (late.job_id, "running"),
    ]
    assert lapsed(grace_seconds=30, limit=1) == [(later.job_id, "running")]
    assert here.job(healthy.job_id).crash_count == 0


def test_a_lease_within_its_grace_is_healthy(here: World) -> None:
    lease = running(here)
    sql("UPDATE ai_job SET lock_until = now() - interval '29 s'")
    assert lapsed(grace_seconds=30, limit=10) == []
    sql("UPDATE ai_job SET lock_until = now() - interval '31 s'")
    assert lapsed(grace_seconds=30, limit=10) == [(lease.job_id, "running")]


def test_what_was_tried_in_this_pass_is_not_looked_at_again(here: World) -> None:
    first, second, expired = (running(here).job_id for _ in range(3))
    for number, job_id in enumerate((first, second, expired)):
        here.lapse(job_id, 1000 - number)
    expire(expired, grace_seconds=30)
    assert lapsed(grace_seconds=30, limit=10, tried=[first]) == [
        (second, "running"),
        (expired, "expired"),
    ]
    assert lapsed(grace_seconds=30, limit=1, tried=[first, expired]) == [(second, "running")]
    assert lapsed(grace_seconds=30, limit=10, tried=[first, second, expired]) == []


def test_jobs_left_expired_are_found_again(here: World) -> None:
    lease = running(here)
    expire_now(here, lease.job_id)
    assert lapsed(grace_seconds=30, limit=10) == [(lease.job_id, "expired")]
