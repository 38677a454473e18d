"""The sockets under the HTTP client: every wait ends with the call's cut and the call's deadline.

Invariant: whoever uses a socket holds it for its own call, on a fresh and on a pooled connection.
"""

from __future__ import annotations

import select
import socket
import ssl
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

import httpcore

from aijobs.engine.gateway.call import Call, current_call
from aijobs.engine.gateway.connect import PrivateAddress, connect
from aijobs.engine.gateway.resolve import is_public

T = TypeVar("T")


class CuttableBackend(httpcore.NetworkBackend):
    """Opens connections. `connect_seconds` bounds DNS, connecting and TLS together."""

    def __init__(self, connect_seconds: float) -> None:
        self._connect_seconds = connect_seconds

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect for the current call. The time-out is this backend's own."""
        ready_by = time.monotonic() + self._connect_seconds
        sock = connect(host, port, _calling(), self._connect_seconds)
        return CuttableStream(sock, ready_by)


class CuttableStream(httpcore.NetworkStream):
    """One connection, used by one call at a time. `heard`: something came since the last write."""

    def __init__(self, sock: socket.socket, ready_by: float) -> None:
        self._sock = sock
        self._ready_by = ready_by
        self.heard = False

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        """Shake hands within what is left of the time to connect."""
        wrapped = ssl_context.wrap_socket(
            self._sock, server_hostname=server_hostname, do_handshake_on_connect=False
        )
        secured = CuttableStream(wrapped, self._ready_by)
        try:
            secured._bounded(wrapped.do_handshake, max(self._ready_by - time.monotonic(), 0.0))
        except BaseException:
            secured.close()
            raise
        return secured

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send everything. Holds the socket: a pooled connection begins its next request here."""
        self.heard = False
        view = memoryview(buffer)
        while view:
            sent = self._bounded(partial(self._send, view))
            view = view[sent:]

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """What comes next; b"" at the end."""
        self.heard = True
        return self._bounded(partial(self._sock.recv, max_bytes))

    def close(self) -> None:
        """Close for good."""
        if call := current_call():
            call.let_go(self._sock)
        self._sock.close()

    def get_extra_info(self, info: str) -> Any:
        """What httpcore asks for: `is_readable` of an idle connection means that it has ended."""
        if info == "is_readable":
            return _is_readable(self._sock)
        return None

    def _send(self, data: memoryview) -> int:
        try:
            return self._sock.send(data)
        except TimeoutError:
            raise
        except OSError as error:  # httpcore then reads the answer of a server that closed early
            raise httpcore.WriteError(str(error)) from error

    def _bounded(self, step: Callable[[], T], bound: float | None = None) -> T:
        call = _calling()
        if call.public_only and not is_public(self._sock.getpeername()[0]):
            raise PrivateAddress("the host has an address of a private network")
        call.hold(self._sock)
        self._sock.settimeout(call.seconds(bound))
        try:
            return step()
        except TimeoutError:
            call.check_timed_out()
            raise


def _calling() -> Call:
    call = current_call()
    if call is None:
        raise RuntimeError("the gateway's network is used outside of a call")
    return call


def _is_readable(sock: socket.socket) -> bool:
    if sock.fileno() < 0:
        return True
    poller = select.poll()
    poller.register(sock, select.POLLIN)
    return bool(poller.poll(0))
