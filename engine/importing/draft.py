"""The points that a reader finds in a file, and the faults that it finds instead.

Invariant: what comes out fits a knowledge point (engine/points.py); one fault, and nothing does.
"""

from __future__ import annotations

from dataclasses import dataclass

from aijobs.engine.points import BODY_LENGTH, TAG_LENGTH, TAGS, TITLE_LENGTH
from aijobs.engine.refusal import FieldFault, Refused
from aijobs.engine.sentence import Sentence

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
            too_many = Sentence("more than {limit} points: split the file", limit=MAX_POINTS)
            raise self.end(draft.line, too_many)
        self._drafts.append(draft)
        for message in _misfits(draft):
            self.fault(draft.line, message)

    def fault(self, line: int, message: Sentence) -> None:
        """Note a fault and what mends it. Raises Refused when there are many."""
        self._faults.append(at_line(line, message))
        if len(self._faults) == _MAX_FAULTS:
            raise refused(*self._faults)

    def end(self, line: int, message: Sentence) -> Refused:
        """The refusal to raise for a fault beyond which there is no reading on."""
        return refused(*self._faults, at_line(line, message))

    def all(self) -> list[Draft]:
        """The points. Raises Refused when there was any fault, or no point."""
        if self._faults:
            raise refused(*self._faults)
        if not self._drafts:
            raise self.end(1, Sentence("no point found: give a heading or a row a text"))
        return self._drafts


def refused(*faults: FieldFault) -> Refused:
    """A file's faults as a refusal; the first one is its detail."""
    first = faults[0]
    detail = Sentence(
        "{field}: {message}. Nothing was stored.", field=first.field, message=first.message
    )
    return Refused("INVALID_REQUEST", detail, errors=faults)


def at_line(line: int, message: Sentence) -> FieldFault:
    """A fault of a line of the file."""
    return FieldFault(Sentence("line {line}", line=line), message)


def _misfits(draft: Draft) -> list[Sentence]:
    found = []
    if len(draft.title) > TITLE_LENGTH:
        found.append(
            Sentence(
                "the title has {length} characters, a point holds {limit}: shorten it",
                length=len(draft.title),
                limit=TITLE_LENGTH,
            )
        )
    if len(draft.body) > BODY_LENGTH:
        found.append(
            Sentence(
                "the text has {length} characters, a point holds {limit}: split it",
                length=len(draft.body),
                limit=BODY_LENGTH,
            )
        )
    if len(draft.tags) > TAGS:
        found.append(
            Sentence(
                "{count} tags, a point holds {limit}: leave some out",
                count=len(draft.tags),
                limit=TAGS,
            )
        )
    if any(len(tag) > TAG_LENGTH for tag in draft.tags):
        found.append(
            Sentence("a tag has more than {limit} characters: shorten it", limit=TAG_LENGTH)
        )
    return found
