"""The error objects of the compatible servers, in their several shapes.

Invariant: any bytes give an ErrorBody, and its fields have the types that they claim.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from aijobs.engine.gateway.wire_json import NotJson, parse


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """`codes`: what stood as code and type, in lower case. `status`: a code that was a number."""

    message: str = ""
    codes: tuple[str, ...] = ()
    status: int | None = None


def error_in(payload: Any) -> ErrorBody | None:
    """The error that a 200 body or an event holds instead of an answer; None when it holds none."""
    if not isinstance(payload, dict):
        return None
    if payload.get("error"):
        return _of(payload["error"])
    if "choices" not in payload and any(name in payload for name in ("message", "detail", "code")):
        return _of(payload)
    return None


def error_of(body: bytes) -> ErrorBody:
    """What an error status says: an error object, or the beginning of a page."""
    try:
        payload = parse(body)
    except NotJson:
        return ErrorBody(body.decode(errors="replace"))
    return error_in(payload) or ErrorBody(body.decode(errors="replace"))


def _of(error: Any) -> ErrorBody:
    """`{"message", "type", "code"}`, `{"detail"}`, or a bare sentence."""
    if not isinstance(error, dict):
        return ErrorBody(str(error))
    codes = [error.get("code"), error.get("type")]
    return ErrorBody(
        message=_sentence(error.get("message") or error.get("detail") or ""),
        codes=tuple(code.lower() for code in codes if isinstance(code, str)),
        status=next((status for code in codes if (status := _status(code))), None),
    )


def _sentence(message: Any) -> str:
    """A list holds one entry per rejected field: its `msg`, not the `input` that it quotes."""
    if isinstance(message, list):
        return "; ".join(str(entry.get("msg")) for entry in message if isinstance(entry, dict))
    return str(message)


def _status(code: Any) -> int | None:
    text = str(code)
    return int(text) if text.isascii() and text.isdigit() and len(text) == 3 else None
