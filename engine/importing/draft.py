"""The points that a reader finds in a file, and the faults that it finds instead.

Invariant: what comes out fits a knowledge point (engine/points.py); one fault, and nothing does.
"""

from __future__ import annotations

from dataclasses import dataclass

from aijobs.engine.points import BODY_LENGTH, TAG_LENGTH, TAGS, TITLE_LENGTH
from aijobs.engine.refusal import FieldFault, Refused

MAX_POINTS = 5000
_MAX_FAULTS = 20


@dataclass(frozen=True, slots=True)
class Draft:
    """A point that begins on a line of a file."""

    line: int
    title: str
    body: str
    tags: tuple[str, ...] = ()


class Drafts:
    """What a reader gathers. Reading ends at the twentieth fault or beyond 5 000 points."""

    def __init__(self) -> None:
        self._drafts: list[Draft] = []
        self._faults: list[FieldFault] = []

    def add(self, draft: Draft) -> None:
        """Take a point. Raises Refused when it is one too many."""
        if len(self._drafts) == MAX_POINTS:
            raise self.end(draft.line, f"more than {MAX_POINTS} points: split the file")
        self._drafts.append(draft)
        for message in _misfits(draft):
            self.fault(draft.line, message)

    def fault(self, line: int, message: str) -> None:
        """Note a fault and what mends it. Raises Refused when there are many."""
        self._faults.append(FieldFault(f"line {line}", message))
        if len(self._faults) == _MAX_FAULTS:
            raise refused(*self._faults)

    def end(self, line: int, message: str) -> Refused:
        """The refusal to raise for a fault beyond which there is no reading on."""
        return refused(*self._faults, FieldFault(f"line {line}", message))

    def all(self) -> list[Draft]:
        """The points. Raises Refused when there was any fault, or no point."""
        if self._faults:
            raise refused(*self._faults)
        if not self._drafts:
            raise self.end(1, "no point found: give a heading or a row a text")
        return self._drafts


def refused(*faults: FieldFault) -> Refused:
    """A file's faults as a refusal; the first one is its detail."""
    detail = f"{faults[0].field}: {faults[0].message}"
    return Refused("INVALID_REQUEST", f"{detail}. Nothing was stored.", errors=faults)


def _misfits(draft: Draft) -> list[str]:
    found = []
    if len(draft.title) > TITLE_LENGTH:
        found.append(
            f"the title has {len(draft.title)} characters, a point holds {TITLE_LENGTH}: shorten it"
        )
    if len(draft.body) > BODY_LENGTH:
        found.append(
            f"the text has {len(draft.body)} characters, a point holds {BODY_LENGTH}: split it"
        )
    if len(draft.tags) > TAGS:
        found.append(f"{len(draft.tags)} tags, a point holds {TAGS}: leave some out")
    if any(len(tag) > TAG_LENGTH for tag in draft.tags):
        found.append(f"a tag has more than {TAG_LENGTH} characters: shorten it")
    return found
