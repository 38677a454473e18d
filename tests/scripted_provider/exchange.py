"""One call as the provider sees it: what was asked, the means to answer, and the peer's presence.

Invariant: whenever the provider waits or writes, it notices a peer that went away, and says so.
"""

from __future__ import annotations

import json
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_TLS_ALERT = b"\x15"


class PeerClosed(Exception):
    """The client closed its socket while the provider was at it."""


class Stopping(Exception):
    """The scripted provider is being stopped."""


@dataclass(eq=False)
class ProviderCall:
    """The record of one call. `outcome`: received, answered, peer_closed, hung_up or stopped.

    Calls with one `client_port` came over one connection.
    """

    number: int
    received_at: float
    body: dict[str, Any]
    headers: Mapping[str, str] = field(repr=False)
    path: str
    client_port: int
    outcome: str = "received"
    peer_closed: threading.Event = field(default_factory=threading.Event, repr=False)
    ended: threading.Event = field(default_factory=threading.Event, repr=False)


class Exchange:
    """What a behaviour works with."""

    def __init__(
        self,
        call: ProviderCall,
        sock: socket.socket,
        answer: Callable[[], str],
        is_stopping: Callable[[], bool],
    ) -> None:
        self.call = call
        self.keeps_connection = True
        self._sock = sock
        self._answer = answer
        self._is_stopping = is_stopping

    @property
    def body(self) -> dict[str, Any]:
        """The request's JSON body."""
        return self.call.body

    def answer_text(self) -> str:
        """What the model says to this request."""
        return self._answer()

    def send(self, data: bytes) -> None:
        """Bytes as they are. Raises PeerClosed."""
        try:
            self._sock.sendall(data)
        except OSError:
            self._peer_is_gone()

    def respond(
        self,
        status: int,
        body: bytes | str | Any,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """A whole response; anything but bytes and text becomes JSON."""
        if not isinstance(body, bytes | str):
            body = json.dumps(body)
        data = body.encode() if isinstance(body, str) else body
        length = {"Content-Length": str(len(data))}
        self.send(_head(status, {"Content-Type": content_type, **length, **(headers or {})}) + data)

    def begin(self, status: int = 200, content_type: str = "text/event-stream") -> None:
        """The head of a chunked response."""
        self.send(_head(status, {"Content-Type": content_type, "Transfer-Encoding": "chunked"}))

    def begin_unframed(self, content_type: str = "application/json") -> None:
        """The head of a response that ends with the connection."""
        self.keeps_connection = False
        self.send(_head(200, {"Content-Type": content_type, "Connection": "close"}))

    def chunk(self, data: bytes | str) -> None:
        """One chunk."""
        data = data.encode() if isinstance(data, str) else data
        self.send(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def event(self, payload: Any) -> None:
        """One server-sent event in a chunk of its own."""
        self.chunk(f"data: {payload if isinstance(payload, str) else json.dumps(payload)}\n\n")

    def end(self) -> None:
        """The last chunk."""
        self.send(b"0\r\n\r\n")

    def pause(self, seconds: float) -> None:
        """Say nothing for a while. Raises PeerClosed as soon as the client has closed."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self._is_stopping():
                raise Stopping
            poller = select.poll()
            poller.register(self._sock, select.POLLIN)
            if poller.poll(min(left, 1.0) * 1000):
                self._look()

    def hold(self) -> None:
        """Say nothing until the client has closed."""
        self.pause(24 * 3600)

    def hang_up(self) -> None:
        """Close the connection after this."""
        self.keeps_connection = False
        self.call.outcome = "hung_up"

    def reset(self) -> None:
        """Close the connection with a reset after this."""
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self.hang_up()

    def _look(self) -> None:
        if self._is_stopping():
            raise Stopping
        try:
            # The base class's method: under TLS, the bytes of the wire.
            seen = socket.socket.recv(self._sock, 1, socket.MSG_PEEK)
        except OSError:
            seen = b""
        if seen in (b"", _TLS_ALERT):
            self._peer_is_gone()
        raise AssertionError("the client sent more than one request at a time")

    def _peer_is_gone(self) -> None:
        if self._is_stopping():
            raise Stopping
        raise PeerClosed


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Unknown"
    lines = [
        f"HTTP/1.1 {status} {phrase}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()
