"""Attempts of a process: found by job, cut by job, drained together."""

from __future__ import annotations

import threading
import time
from uuid import uuid4

import pytest

from aijobs.engine.attempt import Attempt, Attempts
from aijobs.engine.cut import CutReason
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
    "data", [b"", b"garbage", b"\xff\xfe", str(uuid4()).encode(), b"1" * 10**6]
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
    draining = threading.Thread(target=attempts.drain, args=(3600,))
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
