"""The bytes of a response, decompressed, and never more of them than is sane.

Invariant: what is in memory at a time is one piece and one step of decompression, whatever the
sender claims; a body that is too large is given up at the limit.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import suppress

import httpx

from aijobs.engine.gateway.call import Call
from aijobs.engine.gateway.faults import NETWORK_ERRORS

MAX_BODY_BYTES = 4 * 1024 * 1024
_MAX_ERROR_BYTES = 64 * 1024
_STEP_BYTES = 64 * 1024
_ERROR_SECONDS = 1.0
_AUTODETECT = zlib.MAX_WBITS | 32


class UnusableBody(Exception):
    """A body that is too large or encoded in a way that nobody asked for."""


class CutBody(OSError):
    """A compressed body that ended in the middle."""


def pieces(response: httpx.Response) -> Iterator[bytes]:
    """The decoded body piece by piece. Raises UnusableBody, and what the network raises."""
    left = MAX_BODY_BYTES
    for piece in _decoded(response):
        left -= len(piece)
        if left < 0:
            raise UnusableBody(f"the body is larger than {MAX_BODY_BYTES} bytes")
        yield piece


def error_bytes(response: httpx.Response, call: Call) -> bytes:
    """The beginning of an error's body, or what arrives of it: the status says the main thing."""
    call.hurry(_ERROR_SECONDS)
    kept = bytearray()
    with suppress(*NETWORK_ERRORS, UnusableBody):
        for piece in _decoded(response):
            kept += piece
            if len(kept) >= _MAX_ERROR_BYTES:
                break
    return bytes(kept[:_MAX_ERROR_BYTES])


def _decoded(response: httpx.Response) -> Iterator[bytes]:
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding in ("", "identity"):
        yield from response.iter_raw()
    elif encoding in ("gzip", "x-gzip", "deflate"):
        yield from _inflated(response.iter_raw())
    else:
        raise UnusableBody("the body has an encoding that was not asked for")


def _inflated(compressed: Iterator[bytes]) -> Iterator[bytes]:
    inflater = zlib.decompressobj(_AUTODETECT)
    for data in compressed:
        while data and not inflater.eof:
            yield _inflate(inflater, data)
            data = inflater.unconsumed_tail
    if not inflater.eof:
        raise CutBody("the compressed body ended in the middle")


def _inflate(inflater: zlib._Decompress, data: bytes) -> bytes:
    try:
        return inflater.decompress(data, _STEP_BYTES)
    except zlib.error:
        problem = "the body is not compressed as it says"
    raise UnusableBody(problem)
