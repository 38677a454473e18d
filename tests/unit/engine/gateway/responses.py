"""Responses without a wire: bytes in given pieces, and a call that lasts long enough."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import httpx

from aijobs.engine.chat import Reply, Route
from aijobs.engine.cut import Cut
from aijobs.engine.gateway.call import Call
from aijobs.engine.gateway.reading import read_reply

ROUTE = Route("p", "asked-model", "https://api.example", "sk-canary-0123456789")


class Pieces(httpx.SyncByteStream):
    """A body that arrives in these pieces."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces


def read(*pieces: bytes, headers: Mapping[str, str] | None = None) -> Reply:
    """What the gateway makes of a body that arrives in these pieces."""
    return read_from(pieces, headers)


def read_from(pieces: Iterable[bytes], headers: Mapping[str, str] | None = None) -> Reply:
    """The same, of pieces that are made one by one."""
    framed = {"transfer-encoding": "chunked"} if headers is None else headers
    response = httpx.Response(200, headers=framed, stream=Pieces(pieces))
    return read_reply(response, ROUTE, Call(Cut(time.monotonic() + 60)))


def chunk(delta: Mapping[str, Any], finish_reason: str | None = None, **more: Any) -> bytes:
    """One event of a stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return b"data: " + json.dumps({"model": "m", "choices": [choice], **more}).encode() + b"\n\n"


def document(message: Mapping[str, Any], finish_reason: str | None = "stop", **more: Any) -> bytes:
    """One whole body."""
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return json.dumps({"model": "m", "choices": [choice], **more}).encode()
