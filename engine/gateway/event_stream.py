"""Server-sent events from bytes, as the HTML standard reads them and a little more patiently.

Invariant: comments, line endings and the borders of network reads never show in an event.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_DONE = b"[DONE]"
_FIELDS = (b"", b"data", b"event", b"id", b"retry")


@dataclass(frozen=True, slots=True)
class Event:
    """One event: `lines` are its data lines. `is_end` marks the end that the wire agreed on."""

    lines: tuple[bytes, ...]
    name: bytes = b""

    @property
    def is_end(self) -> bool:
        return self.lines == (_DONE,)


class EventStream:
    """Feed it bytes, it yields events. `recognised`: some line belonged to an event stream."""

    def __init__(self) -> None:
        self.recognised = False
        self._line = bytearray()
        self._after_return = False
        self._data: list[bytes] = []
        self._name = b""

    def feed(self, piece: bytes) -> Iterator[Event]:
        """The events that are complete with these bytes."""
        for line in self._lines(piece):
            yield from self._take(line)

    def rest(self) -> Iterator[Event]:
        """At the end of the body: an event that no blank line closed."""
        yield from self._take(bytes(self._line))
        yield from self._dispatch()

    def _lines(self, piece: bytes) -> Iterator[bytes]:
        if not piece:
            return
        if self._after_return and piece.startswith(b"\n"):
            piece = piece[1:]
        self._after_return = piece.endswith(b"\r")
        for part in piece.splitlines(keepends=True):
            self._line += part
            if part.endswith((b"\n", b"\r")):
                line = bytes(self._line).rstrip(b"\r\n")
                self._line.clear()
                yield line

    def _take(self, line: bytes) -> Iterator[Event]:
        if not line:
            yield from self._dispatch()
            return
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        self.recognised = self.recognised or field in _FIELDS
        if field == b"event":
            self._name = value
        elif field == b"data" and value.strip() == _DONE:
            yield from self._dispatch()
            yield Event((_DONE,))
        elif field == b"data":
            self._data.append(value)

    def _dispatch(self) -> Iterator[Event]:
        event = Event(tuple(self._data), self._name)
        self._data, self._name = [], b""
        if event.lines:
            yield event
