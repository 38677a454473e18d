"""From the body of a 2xx response to a Reply, whether it came as events or as one document.

Invariant: half an answer is never a Reply: without its end it is a connection that was cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Protocol

import httpx

from aijobs.engine.chat import Reply, Route
from aijobs.engine.gateway.assembly import Assembly
from aijobs.engine.gateway.body import UnusableBody, pieces
from aijobs.engine.gateway.call import Call
from aijobs.engine.gateway.event_stream import Event, EventStream
from aijobs.engine.gateway.faults import NETWORK_ERRORS
from aijobs.engine.gateway.wire_json import NotJson, parse

_BLANKS = b" \t\r\n\xef\xbb\xbf"
#: What may still come after the finish_reason is a count, and after [DONE] nothing of interest.
_TAIL_SECONDS = 2.0
_END_SECONDS = 0.25


def read_reply(response: httpx.Response, route: Route, call: Call) -> Reply:
    """The complete answer. Raises ProviderFault, CallCut and what the network raises."""
    assembly = Assembly(route, response.status_code)
    if response.headers.get("content-type", "").lower().startswith("text/html"):
        raise assembly.fault("PROVIDER_UNAVAILABLE", "a page instead of an answer")
    try:
        _read(response, assembly, call)
    except UnusableBody as problem:
        raise assembly.fault("PROVIDER_UNAVAILABLE", str(problem)) from None
    except NotJson:
        raise assembly.fault("PROVIDER_UNAVAILABLE", "the answer is not JSON") from None
    except NETWORK_ERRORS:
        if assembly.finish_reason is None:
            raise
    return assembly.reply()


class _Reader(Protocol):
    def feed(self, piece: bytes) -> bool:
        """Take some bytes; whether that was the end of the answer."""
        ...

    def finish(self) -> None:
        """The body is over."""
        ...


def _read(response: httpx.Response, assembly: Assembly, call: Call) -> None:
    body = pieces(response)
    framed = any(name in response.headers for name in ("content-length", "transfer-encoding"))
    reader: _Reader | None = None
    for piece in body:
        if reader is None:
            piece = piece.lstrip(_BLANKS)
            if not piece:
                continue
            reader = _reader(piece, assembly, call, framed)
        if reader.feed(piece):
            _drain(body, call)
            return
    if reader is None:
        raise assembly.fault("PROVIDER_TIMEOUT", "the answer is blank")
    reader.finish()


def _reader(beginning: bytes, assembly: Assembly, call: Call, framed: bool) -> _Reader:
    """By the first character: servers ignore `stream`, and label one form as the other."""
    if beginning[:1] == b"<":
        raise assembly.fault("PROVIDER_UNAVAILABLE", "a page instead of an answer")
    if beginning[:1] in (b"{", b"["):
        return _Document(assembly, framed)
    return _Events(assembly, call)


def _drain(body: Iterator[bytes], call: Call) -> None:
    """Read the end of the body, so that the connection can serve the next call."""
    if call.cut.remaining() <= 2 * _END_SECONDS:
        return
    call.hurry(_END_SECONDS)
    with suppress(*NETWORK_ERRORS, UnusableBody):
        for _ in body:
            pass


class _Document:
    def __init__(self, assembly: Assembly, framed: bool) -> None:
        self._assembly = assembly
        self._framed = framed
        self._bytes = bytearray()

    def feed(self, piece: bytes) -> bool:
        self._bytes += piece
        return False

    def finish(self) -> None:
        try:
            payload = parse(bytes(self._bytes))
        except NotJson:
            if self._framed:
                raise
            # Without a length, the end of the connection is the only end: it may have come early.
            raise self._assembly.fault("PROVIDER_TIMEOUT", "the answer ended early") from None
        self._assembly.add(payload)


class _Events:
    def __init__(self, assembly: Assembly, call: Call) -> None:
        self._assembly = assembly
        self._call = call
        self._stream = EventStream()

    def feed(self, piece: bytes) -> bool:
        return any(self._take(event) for event in self._stream.feed(piece))

    def finish(self) -> None:
        if not self._stream.recognised:
            raise NotJson("no event stream")
        with suppress(NotJson):  # the last event may have been cut in two
            if any(self._take(event) for event in self._stream.rest()):
                return
        if self._assembly.finish_reason is None:
            raise self._assembly.fault("PROVIDER_TIMEOUT", "the stream ended before the answer did")

    def _take(self, event: Event) -> bool:
        """Whether it was the last one."""
        if event.is_end:
            return True
        for payload in _payloads(event):
            self._assembly.add(payload, is_error=event.name == b"error")
        if self._assembly.finish_reason is not None:
            self._call.hurry(_TAIL_SECONDS)
        return False


def _payloads(event: Event) -> list[Any]:
    """One document; or one per line, from servers that leave out the blank lines between events."""
    data = b"\n".join(event.lines)
    if not data.strip():
        return []
    try:
        return [parse(data)]
    except NotJson:
        if len(event.lines) == 1:
            raise
    return [parse(line) for line in event.lines]
