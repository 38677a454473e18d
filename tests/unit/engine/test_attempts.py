"""Attempts of a process: found by job, cut by job, drained together."""

from __future__ import annotations

import threading
import time
from uuid import uuid4

import pytest

from aijobs.engine.attempt import Attempt, Attempts
from aijobs.engine.cut import CallCut, CutReason
from aijobs.engine.wakeups import hear_cancel
from aijobs.models.tables import AiJob

HOLDER = "host:1:x"


def _attempt(timeout_seconds: int = 120) -> Attempt:
    job = AiJob(id=uuid4(), attempt_no=3, timeout_seconds=timeout_seconds, call_count=2)
    return Attempt(job, HOLDER)


def _entered(attempts: Attempts) -> Attempt:
    attempt = _attempt()
    attempts.add(attempt)
    return attempt


def test_an_attempt_holds_its_fence_and_its_time() -> None:
    attempt = _attempt(7)
    assert (attempt.lease.job_id, attempt.lease.attempt_no) == (attempt.job.id, 3)
    assert (attempt.lease.holder, attempt.calls) == (HOLDER, 2)
    assert 6 < attempt.cut.remaining() <= 7


def test_it_is_live_until_its_stages_own_deadline() -> None:
    attempt = _attempt()
    assert attempt.is_live()
    attempt.stage_deadline = time.monotonic()
    assert not attempt.is_live()
    attempt.enter(5)
    assert attempt.is_live()
    attempt.cut.cut(CutReason.LEASE_LOST)
    assert not attempt.is_live(), "there is nothing left to renew"


def test_its_clocks_start_with_its_turn() -> None:
    """While it waits for the process to be free, its time does not run, and it can be ended."""
    attempt = _attempt(7)
    attempt.cut.deadline = time.monotonic()
    attempt.check_wait()
    attempt.begin()
    assert 6 < attempt.cut.remaining() <= 7
    attempt.cut.cut(CutReason.CANCELLED)
    with pytest.raises(CallCut):
        attempt.check_wait()


def test_an_earlier_attempt_on_the_same_job_has_lost_its_lease() -> None:
    attempts = Attempts()
    earlier = _entered(attempts)
    later = Attempt(earlier.job, HOLDER)
    attempts.add(later)
    assert (earlier.cut.reason, later.cut.reason) == (CutReason.LEASE_LOST, None)
    attempts.remove(earlier)
    assert attempts.all() == [later], "the earlier one takes only itself away"


@pytest.mark.parametrize("reason", CutReason)
def test_it_insists_on_its_writes_until_the_lease_is_lost(reason: CutReason) -> None:
    attempt = _attempt()
    assert attempt.may_insist()
    attempt.cut.cut(reason)
    assert attempt.may_insist() is (reason is not CutReason.LEASE_LOST)


def test_those_under_way_are_listed_until_they_leave() -> None:
    attempts = Attempts()
    first, second = _entered(attempts), _entered(attempts)
    assert attempts.all() == [first, second]
    attempts.remove(first)
    attempts.remove(first)
    assert attempts.all() == [second]


def test_a_cancel_finds_the_attempt_on_its_job_and_no_other() -> None:
    attempts = Attempts()
    first, second = _entered(attempts), _entered(attempts)
    assert attempts.cut(first.job.id, CutReason.CANCELLED) is True
    assert attempts.cut(uuid4(), CutReason.CANCELLED) is False
    assert (first.cut.reason, second.cut.reason) == (CutReason.CANCELLED, None)


@pytest.mark.parametrize(
    "data", [b"", b"garbage", b"\xff\xfe", b"2e81ea77-a2db-4d17-b69d-24a77fc57cee", b"1" * 10**6]
)
def test_a_wake_up_for_nobody_is_nothing(data: bytes) -> None:
    attempts = Attempts()
    attempt = _entered(attempts)
    hear_cancel(attempts, data)
    assert attempt.cut.reason is None
    hear_cancel(attempts, str(attempt.job.id).encode())
    assert attempt.cut.reason is CutReason.CANCELLED


def test_draining_waits_for_what_ends_in_time() -> None:
    attempts = Attempts()
    attempt = _entered(attempts)
    draining = threading.Thread(target=attempts.drain, args=(3600,), daemon=True)
    draining.start()
    attempts.remove(attempt)
    draining.join(30)
    assert not draining.is_alive()
    assert attempt.cut.reason is None


def test_what_does_not_end_in_time_is_cut_and_so_is_what_comes_later() -> None:
    attempts = Attempts()
    slow = _entered(attempts)
    attempts.drain(0)
    assert slow.cut.reason is CutReason.SHUTDOWN
    late = _entered(attempts)
    assert late.cut.reason is CutReason.SHUTDOWN


def test_waiting_for_the_last_one() -> None:
    attempts = Attempts()
    attempts.wait_until_idle(0)
    attempt = _entered(attempts)
    attempts.wait_until_idle(0)
    waiting = threading.Thread(target=attempts.wait_until_idle, args=(3600,), daemon=True)
    waiting.start()
    attempts.remove(attempt)
    waiting.join(30)
    assert not waiting.is_alive()
