"""Taking turns: something of everybody before a second thing of anybody.

Invariant: nothing is worked out before it is somebody's turn, so who asks for five pays for five.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def take_turns(sources: Iterable[Iterator[T]]) -> Iterator[T]:
    """The first of each source, then the second of each, and so on until all are used up."""
    waiting = list(sources)
    while waiting:
        left = []
        for source in waiting:
            for thing in source:
                yield thing
                left.append(source)
                break
        waiting = left
