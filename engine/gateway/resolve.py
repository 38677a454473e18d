"""Host names to addresses, within a time and under a cut, which getaddrinfo knows nothing of.

Invariant: the look-up runs in a thread of its own that nobody has to wait for.
"""

from __future__ import annotations

import ipaddress
import queue
import socket
import threading
from dataclasses import dataclass
from typing import Any

from aijobs.engine.gateway.call import Call

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
#: All that is handed out for the open internet (RFC 4291, 2.4). What lies beside it is local, or
#: carries an IPv4 address (::a.b.c.d, ::ffff:0:a.b.c.d, 64:ff9b:1::), or is nobody's, and yet
#: counts as global.
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")


@dataclass(frozen=True, slots=True)
class Address:
    """One place to connect to."""

    family: socket.AddressFamily
    sockaddr: tuple[Any, ...]

    @property
    def is_public(self) -> bool:
        """Whether it belongs to the open internet: not loopback, private, link-local."""
        return is_public(str(self.sockaddr[0]))


def is_public(host: str) -> bool:
    """Whether a numeric address belongs to the open internet."""
    address = ipaddress.ip_address(host.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        if (carried := _carried(address)) is None and address not in _GLOBAL_UNICAST:
            return False
        address = carried or address
    return address.is_global and not address.is_multicast


def _carried(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address behind one that a gateway translates."""
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour


def resolve(host: str, port: int, call: Call, seconds: float) -> list[Address]:
    """The addresses of `host`, in the order to try.

    Raises OSError when there are none, TimeoutError after `seconds`, CallCut when the call was cut.
    """
    answers: queue.SimpleQueue[list[Address] | Exception | None] = queue.SimpleQueue()
    asking = threading.Thread(
        target=_look_up, args=(host, port, answers), name="gateway-dns", daemon=True
    )
    with call.cut.attached(lambda: answers.put(None)):
        _start(asking)
        try:
            answer = answers.get(timeout=call.seconds(seconds))
        except queue.Empty:
            raise TimeoutError("the host name was not resolved in time") from None
    if answer is None:
        call.cut.check()
    if isinstance(answer, list):
        return answer
    raise OSError(str(answer))


def _start(thread: threading.Thread) -> None:
    try:
        thread.start()
    except RuntimeError as error:
        raise OSError("no thread for the look-up") from error


def _look_up(host: str, port: int, answers: queue.SimpleQueue[Any]) -> None:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        answers.put(error)
    else:
        answers.put([Address(family, sockaddr) for family, _, _, _, sockaddr in found])
