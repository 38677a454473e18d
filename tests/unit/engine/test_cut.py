"""Cuts: whatever is attached is closed once, early or late, and the first reason stays."""

from __future__ import annotations

import threading
import time

import pytest

from aijobs.engine.cut import CallCut, Cut, CutReason

LONG = 3600.0


def _cut(seconds: float = LONG) -> Cut:
    return Cut(time.monotonic() + seconds)


def test_what_is_attached_is_closed_once() -> None:
    cut, closed = _cut(), []
    with cut.attached(lambda: closed.append("a")), cut.attached(lambda: closed.append("b")):
        cut.cut(CutReason.CANCELLED)
        cut.cut(CutReason.SHUTDOWN)
    assert sorted(closed) == ["a", "b"]
    assert cut.reason is CutReason.CANCELLED


def test_what_is_attached_too_late_is_closed_at_once() -> None:
    cut, closed = _cut(), []
    cut.cut(CutReason.LEASE_LOST)
    with cut.attached(lambda: closed.append("a")):
        assert closed == ["a"]
    assert closed == ["a"]


def test_what_was_detached_is_left_alone() -> None:
    cut, closed = _cut(), []
    with cut.attached(lambda: closed.append("a")):
        pass
    cut.cut(CutReason.CANCELLED)
    assert closed == []


def test_a_socket_that_fails_to_close_does_not_keep_the_others_open() -> None:
    cut, closed = _cut(), []

    def broken() -> None:
        raise OSError("not connected")

    with cut.attached(broken), cut.attached(lambda: closed.append("b")):
        cut.cut(CutReason.CANCELLED)
    with cut.attached(broken):
        pass
    assert closed == ["b"]


def test_a_check_tells_why() -> None:
    cut = _cut()
    cut.check()
    cut.cut(CutReason.SHUTDOWN)
    with pytest.raises(CallCut) as told:
        cut.check()
    assert (told.value.reason, str(told.value)) == (CutReason.SHUTDOWN, "shutdown")


def test_a_deadline_that_has_passed_is_a_cut_and_closes_too() -> None:
    cut, closed = _cut(-1), []
    assert cut.remaining() == 0.0
    with cut.attached(lambda: closed.append("a")), pytest.raises(CallCut) as told:
        cut.check()
    assert told.value.reason is cut.reason is CutReason.DEADLINE
    assert closed == ["a"]


def test_an_earlier_reason_outlasts_the_deadline() -> None:
    cut = _cut(-1)
    cut.cut(CutReason.CANCELLED)
    with pytest.raises(CallCut) as told:
        cut.check()
    assert told.value.reason is CutReason.CANCELLED


def test_waiting_ends_with_the_cut_or_the_deadline() -> None:
    cut = _cut()
    cut.wait(0)
    threading.Timer(0.01, cut.cut, (CutReason.CANCELLED,)).start()
    with pytest.raises(CallCut):
        cut.wait(LONG)
    with pytest.raises(CallCut) as told:
        _cut(0.01).wait(LONG)
    assert told.value.reason is CutReason.DEADLINE
