"""One statement per file; each says why it is written as it is in its header."""

from __future__ import annotations

from functools import cache

from aijobs.models.sql import functions, texts


@cache
def load(name: str) -> str:
    """What runs the statement in `<name>.sql`: the call of its function, or its text."""
    made = functions.of(name)
    return texts.text(name) if made is None else made.call
