"""Who is spared the wait for a server that fails, and until when."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import pytest

from aijobs.http.short_circuit import ShortCircuit, Spared

PAUSE = 5.0


class Server:
    """Answers or fails as it is told, counts who asked, and has the clock."""

    def __init__(self) -> None:
        self.now = 100.0
        self.asked = 0
        self.circuit = ShortCircuit(PAUSE, lambda: self.now)

    def ask(self, answer: Callable[[], str] = lambda: "yes") -> str:
        def question() -> str:
            self.asked += 1
            return answer()

        return self.circuit.ask(question, (OSError,))

    def fail(self) -> None:
        with pytest.raises(ConnectionError):
            self.ask(_away)


def _away() -> NoReturn:
    raise ConnectionError("away")


@pytest.fixture
def server() -> Server:
    return Server()


def test_a_failure_is_told_and_the_next_are_spared_until_the_pause_is_over(server: Server) -> None:
    assert server.ask() == "yes"
    server.fail()
    for later in (0.0, 1.0, 3.5):
        server.now += later
        with pytest.raises(Spared, match="ConnectionError"):
            server.ask()
    assert server.asked == 2
    server.now += 0.5
    assert (server.ask(), server.ask(), server.asked) == ("yes", "yes", 4)


def test_each_failure_begins_a_new_pause(server: Server) -> None:
    for _ in range(3):
        server.fail()
        server.now += PAUSE - 0.01
        with pytest.raises(Spared):
            server.ask()
        server.now += 0.01
    assert server.asked == 3


def test_while_one_tries_again_all_others_are_spared(server: Server) -> None:
    server.fail()
    server.now += PAUSE

    def meanwhile() -> str:
        with pytest.raises(Spared):
            server.ask()
        return "yes"

    assert server.ask(meanwhile) == "yes"
    assert server.asked == 2


def test_an_answer_to_what_was_asked_before_the_failure_proves_nothing(server: Server) -> None:
    def meanwhile() -> str:
        server.fail()
        return "yes"

    assert server.ask(meanwhile) == "yes"
    with pytest.raises(Spared):
        server.ask()


def test_what_is_no_fault_of_the_server_spares_nobody(server: Server) -> None:
    with pytest.raises(ZeroDivisionError):
        server.ask(lambda: str(1 // 0))
    assert server.ask() == "yes"
