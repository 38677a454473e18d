"""What one call holds while it runs: its Cut, its time, and the socket that a cut shuts down.

Invariant: a cut reaches the socket only while the call holds it, so one that comes late never hits
the next call on a pooled connection, nor another file behind the same descriptor.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar

from aijobs.engine.cut import Cut, CutReason

_SHORTEST_WAIT_SECONDS = 0.001
_current: ContextVar[Call] = ContextVar("gateway_call")


class Leash:
    """A socket that a cut may shut down until it is let go.

    Shut down, not closed: that wakes whoever connects, reads or writes, and the peer sees the end.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._lock = threading.Lock()
        self._held = True

    def pull(self) -> None:
        """Shut the socket down, if it is still held."""
        with self._lock:
            if self._held:
                # The base class's method: an SSL object must not be touched from a second thread.
                socket.socket.shutdown(self._sock, socket.SHUT_RDWR)

    def let_go(self) -> None:
        """From now on `pull` does nothing."""
        with self._lock:
            self._held = False


class Call:
    """One call. Its waits end with the deadline of its cut, and earlier after `hurry`."""

    def __init__(self, cut: Cut, *, public_only: bool = False) -> None:
        self.cut = cut
        self.public_only = public_only
        self._bored_at: float | None = None
        self._sock: socket.socket | None = None
        self._holding = ExitStack()

    def hold(self, sock: socket.socket) -> None:
        """Have a cut shut `sock` down from now on, in place of the socket held before."""
        if sock is self._sock:
            return
        self.let_go()
        leash = Leash(sock)
        self._holding.callback(leash.let_go)
        self._holding.enter_context(self.cut.attached(leash.pull))
        self._sock = sock

    def let_go(self, sock: socket.socket | None = None) -> None:
        """Leave `sock`, or whatever is held, alone: it will be closed, or serve another call."""
        if sock is None or sock is self._sock:
            self._sock = None
            self._holding.close()

    def hurry(self, seconds: float) -> None:
        """Wait `seconds` more at most, all waits together: what is still to come matters little."""
        bored_at = time.monotonic() + seconds
        self._bored_at = bored_at if self._bored_at is None else min(self._bored_at, bored_at)

    def seconds(self, bound: float | None = None) -> float:
        """How long the next wait may last. Raises CallCut when no time is left."""
        self.cut.check()
        bounds = [self.cut.remaining()]
        if bound is not None:
            bounds.append(bound)
        if self._bored_at is not None:
            bounds.append(self._bored_at - time.monotonic())
        return max(_SHORTEST_WAIT_SECONDS, min(bounds))

    def check_timed_out(self) -> None:
        """After a wait that timed out: raises CallCut if it was the deadline that ended it."""
        if self.cut.remaining() <= _SHORTEST_WAIT_SECONDS:
            self.cut.cut(CutReason.DEADLINE)
        self.cut.check()


@contextmanager
def calling(cut: Cut, *, public_only: bool = False) -> Iterator[Call]:
    """Make a Call the current one of this thread, for the network below the HTTP client."""
    call = Call(cut, public_only=public_only)
    token = _current.set(call)
    try:
        yield call
    finally:
        call.let_go()
        _current.reset(token)


def current_call() -> Call | None:
    """The call that this thread makes, if it makes one."""
    return _current.get(None)
