"""Isolation of suspects: from its second crash a job shares its process with no other.

Invariant: while a lone entry is inside, nobody else is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_LOOK_SECONDS = 0.5


class Crowd:
    """Who works in this process at present."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._alone = False

    def wait_until_shared(self, seconds: float) -> bool:
        """Wait, before anything is claimed, until nobody runs alone; whether that came in time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._alone, timeout=seconds)

    @contextmanager
    def entered(self, *, alone: bool, check: Callable[[], None]) -> Iterator[None]:
        """Be inside during the block: alone, or with others while nobody is.

        `check` is called while waiting; what it raises ends the wait.
        """
        self._enter(alone, check)
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._alone = self._alone and not alone
                self._changed.notify_all()

    def _enter(self, alone: bool, check: Callable[[], None]) -> None:
        with self._changed:
            self._await(lambda: not self._alone, check)
            self._alone = alone
            try:
                self._await(lambda: not alone or self._inside == 0, check)
            except BaseException:
                self._alone = False
                self._changed.notify_all()
                raise
            self._inside += 1

    def _await(self, condition: Callable[[], bool], check: Callable[[], None]) -> None:
        while not self._changed.wait_for(condition, timeout=_LOOK_SECONDS):
            check()
