"""Isolation of suspects: from its second crash a job shares its process with no other.

Invariant: while a lone entry is inside, nobody else is.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Crowd:
    """Lets suspects run alone: from its second crash a job shares its process with no other.

    A shared entry waits while somebody runs alone; a lone entry waits until it is the only one.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._alone = False

    @contextmanager
    def entered(self, *, alone: bool) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._alone)
            if alone:
                self._alone = True
                self._changed.wait_for(lambda: self._inside == 0)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._alone = self._alone and not alone
                self._changed.notify_all()
