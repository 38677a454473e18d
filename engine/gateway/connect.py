"""A TCP connection within a time, ended at once by a cut even while the peer says nothing.

Invariant: the attempt is under way before the cut is checked, so none falls between the two.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import time

from aijobs.engine.gateway.call import Call
from aijobs.engine.gateway.resolve import Address, resolve


class PrivateAddress(OSError):
    """A host that must be public is not."""


def connect(host: str, port: int, call: Call, seconds: float) -> socket.socket:
    """A connected socket, held by `call`.

    Raises OSError (also TimeoutError) when no address answered, CallCut when the call was cut.
    """
    give_up_at = time.monotonic() + seconds
    addresses = resolve(host, port, call, seconds)
    if call.public_only and not all(address.is_public for address in addresses):
        raise PrivateAddress("the host has an address of a private network")
    failure = OSError("the host has no address")
    for position, address in enumerate(addresses):
        left = (give_up_at - time.monotonic()) / (len(addresses) - position)
        try:
            return _connect_to(address, call, left)
        except OSError as error:
            failure = error
    raise failure


def _connect_to(address: Address, call: Call, seconds: float) -> socket.socket:
    sock = socket.socket(address.family, socket.SOCK_STREAM)
    try:
        call.hold(sock)
        sock.setblocking(False)
        _begin(sock, address)
        _await(sock, call, call.seconds(max(seconds, 0.0)))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        call.let_go()
        sock.close()
        raise
    return sock


def _begin(sock: socket.socket, address: Address) -> None:
    code = sock.connect_ex(address.sockaddr)
    if code not in (0, errno.EINPROGRESS):
        raise OSError(code, os.strerror(code))


def _await(sock: socket.socket, call: Call, seconds: float) -> None:
    """Wait until the handshake is over. A shutdown of the connecting socket ends the wait."""
    poller = select.poll()
    poller.register(sock, select.POLLOUT)
    if not poller.poll(seconds * 1000):
        call.check_timed_out()
        raise TimeoutError("the connection was not accepted in time")
    if code := sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
        raise OSError(code, os.strerror(code))
