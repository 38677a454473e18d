"""A forked process in the hands of a test.

The first one starts a server that has imported the product; each process is a fork of that, so that
none pays for the imports.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from typing import Any

from tests.acceptance.probed.inside import Orders

_WAIT_SECONDS = 60

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["pytest", "tests.acceptance.probed.inside"])


class Child:
    """A process that runs `task(orders, *more)`."""

    def __init__(self, task: Callable[..., None], orders: Orders, *more: Any) -> None:
        self.orders = orders
        self._process = _forks.Process(target=task, args=(orders, *more), daemon=True)
        self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.is_alive()

    @property
    def said(self) -> str:
        """Its log so far."""
        return self.orders.log.read_text() if self.orders.log.exists() else ""

    def dies(self) -> None:
        """Wait until it has killed itself; it must have done so at the probe of its orders."""
        code = self._wait()
        found = self.orders.last_words.read_text() if self.orders.last_words.exists() else None
        assert (code, found) == (-signal.SIGKILL, self.orders.dies_at)

    def stops(self) -> None:
        """SIGTERM, and wait for its orderly end."""
        os.kill(self.pid, signal.SIGTERM)
        assert self._wait() == 0

    def pause(self) -> None:
        """SIGSTOP."""
        os.kill(self.pid, signal.SIGSTOP)

    def wake(self) -> None:
        """SIGCONT."""
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL, whatever state it is in."""
        self._process.kill()
        self._wait()

    def _wait(self) -> int:
        self._process.join(_WAIT_SECONDS)
        code = self._process.exitcode
        assert code is not None, f"still running after {_WAIT_SECONDS} s"
        return code
