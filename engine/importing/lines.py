"""The lines of a text, one at a time: a file of millions of lines is never a list of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Line(NamedTuple):
    """A line without its break; `text[start:next_start]` is the line with it."""

    number: int
    text: str
    start: int
    next_start: int

    @property
    def is_blank(self) -> bool:
        return not self.text.strip()


def lines_of(text: str) -> Iterator[Line]:
    """Every line, from number 1 on. Only `\\n` breaks lines."""
    number, start = 0, 0
    while start < len(text):
        number += 1
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield Line(number, text[start:end], start, min(end + 1, len(text)))
        start = end + 1
