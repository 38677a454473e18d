"""What one call holds while it runs."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from aijobs.engine.cut import CallCut, Cut, CutReason
from aijobs.engine.gateway.call import Call, Leash, calling, current_call

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setblocking(False)
        yield ours, theirs


def a_cut() -> Cut:
    return Cut(time.monotonic() + 60)


def is_open(peer: socket.socket) -> bool:
    try:
        return peer.recv(1) != b""
    except BlockingIOError:
        return True


def test_a_cut_shuts_down_the_socket_that_the_call_holds(pair: Pair) -> None:
    cut = a_cut()
    with calling(cut) as call:
        call.hold(pair[0])
        cut.cut(CutReason.CANCELLED)
        assert not is_open(pair[1])


def test_a_cut_that_came_first_shuts_down_what_is_held_later(pair: Pair) -> None:
    cut = a_cut()
    cut.cut(CutReason.SHUTDOWN)
    with calling(cut) as call:
        call.hold(pair[0])
        assert not is_open(pair[1])


def test_a_cut_after_the_call_leaves_the_socket_alone(pair: Pair) -> None:
    cut = a_cut()
    with calling(cut) as call:
        call.hold(pair[0])
    cut.cut(CutReason.CANCELLED)
    assert is_open(pair[1])


def test_a_cut_that_is_under_way_when_the_call_ends_leaves_the_socket_alone(pair: Pair) -> None:
    leash = Leash(pair[0])
    leash.let_go()
    leash.pull()
    assert is_open(pair[1])


def test_the_socket_held_last_is_the_one_that_a_cut_reaches(pair: Pair) -> None:
    ours, theirs = socket.socketpair()
    cut = a_cut()
    with ours, theirs, calling(cut) as call:
        theirs.setblocking(False)
        call.hold(pair[0])
        call.hold(ours)
        cut.cut(CutReason.CANCELLED)
        assert is_open(pair[1]) and not is_open(theirs)


def test_letting_another_socket_go_changes_nothing(pair: Pair) -> None:
    cut = a_cut()
    with calling(cut) as call:
        call.hold(pair[0])
        call.let_go(pair[1])
        cut.cut(CutReason.CANCELLED)
        assert not is_open(pair[1])


def test_no_wait_is_longer_than_the_deadline_its_bound_and_the_hurry() -> None:
    call = Call(a_cut())
    assert 59 < call.seconds() <= 60
    assert call.seconds(5.0) == 5.0
    assert 0 < call.seconds(0.0) < 0.01
    call.hurry(2.0)
    call.hurry(9.0)
    assert 1 < call.seconds(5.0) <= 2


def test_nothing_is_waited_for_after_the_deadline() -> None:
    call = Call(Cut(time.monotonic()))
    with pytest.raises(CallCut) as raised:
        call.seconds()
    assert raised.value.reason is CutReason.DEADLINE


def test_a_wait_that_its_own_bound_ended_is_no_deadline() -> None:
    call = Call(a_cut())
    call.check_timed_out()
    assert call.cut.reason is None


def test_a_thread_without_a_call_has_none() -> None:
    with calling(a_cut()) as call:
        assert current_call() is call
    assert current_call() is None
