"""Sockets that listen and do nothing more, for the phases before a request is sent.

Invariant: whoever connects waits, until the context ends.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

_PROBE_SECONDS = 0.2
_MOST_FILLERS = 32


@contextmanager
def unaccepting_server() -> Iterator[str]:
    """The base URL of a server whose backlog is full: a connection to it stays in SYN_SENT."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(_MOST_FILLERS):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
            if not select.select([], [filler], [], _PROBE_SECONDS)[1]:
                break
        else:
            raise AssertionError("the backlog does not fill up")
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@contextmanager
def silent_server() -> Iterator[tuple[str, socket.socket]]:
    """Host and port of a server that accepts and never says a word, and its listening socket."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(16)
        yield f"127.0.0.1:{listener.getsockname()[1]}", listener
