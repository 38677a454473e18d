"""The crowd: who is alone inside is alone, and everybody gets in at last."""

from __future__ import annotations

import threading

import pytest

from aijobs.engine.crowd import Crowd

WAIT_SECONDS = 30


def _nothing() -> None: ...


class _Guest:
    """Somebody who enters in a thread of their own and stays until told to leave."""

    def __init__(self, crowd: Crowd, *, alone: bool) -> None:
        self.inside, self.leave = threading.Event(), threading.Event()

        def stay() -> None:
            with crowd.entered(alone=alone, check=_nothing):
                self.inside.set()
                assert self.leave.wait(WAIT_SECONDS)

        self.thread = threading.Thread(target=stay, daemon=True)
        self.thread.start()

    def is_inside(self) -> bool:
        return self.inside.wait(WAIT_SECONDS)

    def stays_outside(self) -> bool:
        return not self.inside.wait(0.05)

    def goes(self) -> None:
        self.leave.set()
        self.thread.join(WAIT_SECONDS)
        assert not self.thread.is_alive()


def test_those_who_share_are_inside_together() -> None:
    crowd = Crowd()
    guests = [_Guest(crowd, alone=False) for _ in range(3)]
    assert all(guest.is_inside() for guest in guests)
    for guest in guests:
        guest.goes()


def test_one_who_is_alone_waits_for_the_others_and_keeps_them_out() -> None:
    crowd = Crowd()
    first = _Guest(crowd, alone=False)
    assert first.is_inside()
    lone = _Guest(crowd, alone=True)
    assert lone.stays_outside()
    later = _Guest(crowd, alone=False)
    assert later.stays_outside(), "or a stream of others would keep the lone one out for ever"
    first.goes()
    assert lone.is_inside()
    assert later.stays_outside()
    lone.goes()
    assert later.is_inside()
    later.goes()


def test_two_who_want_to_be_alone_follow_each_other() -> None:
    crowd = Crowd()
    first, second = _Guest(crowd, alone=True), _Guest(crowd, alone=True)
    guests = [first, second]
    inside = next(guest for guest in guests if guest.inside.wait(WAIT_SECONDS))
    (outside,) = (guest for guest in guests if guest is not inside)
    assert outside.stays_outside()
    inside.goes()
    assert outside.is_inside()
    outside.goes()
    last = _Guest(crowd, alone=False)
    assert last.is_inside()
    last.goes()


def test_one_who_fails_inside_leaves_like_any_other() -> None:
    crowd = Crowd()
    for alone in (True, False, True):
        with pytest.raises(ZeroDivisionError), crowd.entered(alone=alone, check=_nothing):
            raise ZeroDivisionError
    guest = _Guest(crowd, alone=True)
    assert guest.is_inside()
    guest.goes()


@pytest.mark.parametrize("alone", [True, False])
def test_one_who_gives_up_waiting_lets_the_others_in(alone: bool) -> None:
    """Its attempt is cut while it waits for its turn."""
    crowd = Crowd()
    first = _Guest(crowd, alone=not alone)
    assert first.is_inside()

    def give_up() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), crowd.entered(alone=alone, check=give_up):
        pass
    first.goes()
    second = _Guest(crowd, alone=False)
    assert second.is_inside()
    second.goes()


def test_nothing_is_claimed_while_somebody_is_alone() -> None:
    crowd = Crowd()
    assert crowd.wait_until_shared(0)
    shared = _Guest(crowd, alone=False)
    assert shared.is_inside()
    assert crowd.wait_until_shared(0)
    shared.goes()
    lone = _Guest(crowd, alone=True)
    assert lone.is_inside()
    assert not crowd.wait_until_shared(0)
    lone.goes()
    assert crowd.wait_until_shared(WAIT_SECONDS)
