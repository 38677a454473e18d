"""Markdown: headings become points, the text below each its body, letter by letter.

Which headings: those of the deepest level that most sections of the level above have, so that a
file in chapters gives its sections and a flat file its headings. A heading above that level is a
point of its own when a text follows it; one below stays text. The file's title (the only `#`, at
its top), what stands before the first point, and front matter are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from aijobs.engine.importing.draft import Draft, Drafts
from aijobs.engine.importing.headings import Heading, headings_of
from aijobs.engine.sentence import Sentence


def read_markdown(text: str, drafts: Drafts) -> None:
    """Add a point for every heading of the chosen level."""
    headings = _without_title(headings_of(text, drafts))
    if not headings:
        raise drafts.end(1, Sentence("no heading: begin each point with a line like `## Title`"))
    level = _level(headings)
    starts = list(_starts(headings, level))
    ends = [heading.start for heading in starts[1:]] + [len(text)]
    for heading, end in zip(starts, ends, strict=True):
        _add(heading, text[heading.end : end], level, drafts)


def _without_title(headings: list[Heading]) -> list[Heading]:
    tops = sum(heading.level == 1 for heading in headings)
    is_titled = len(headings) > 1 and headings[0].level == 1 and tops == 1
    return headings[1:] if is_titled else headings


def _level(headings: list[Heading]) -> int:
    """The deepest level that most sections of the chosen level above it have."""
    level, *deeper = sorted({heading.level for heading in headings})
    for below in deeper:
        if not _is_usual(headings, level, below):
            break
        level = below
    return level


def _is_usual(headings: list[Heading], level: int, below: int) -> bool:
    """Whether more than half of the sections of a level have headings of the level below."""
    sections, divided, is_new = 0, 0, False
    for heading in headings:
        if heading.level == below:
            divided += is_new
            is_new = False
        elif heading.level <= level:
            is_new = heading.level == level
            sections += is_new
    return 2 * divided > sections


def _starts(headings: list[Heading], level: int) -> Iterator[Heading]:
    """The headings at which a point may begin: a deeper one only before the first of the level."""
    is_inside = False
    for heading in headings:
        if heading.level <= level or not is_inside:
            is_inside = heading.level <= level
            yield heading


def _add(heading: Heading, below: str, level: int, drafts: Drafts) -> None:
    body = _trimmed(below)
    if not heading.title:
        drafts.fault(
            heading.line,
            Sentence("the heading has no title: write one, or remove the heading"),
        )
    elif body:
        drafts.add(Draft(heading.line, heading.title, body))
    elif heading.level >= level:
        drafts.fault(
            heading.line,
            Sentence("no text below the heading: write one, or remove the heading"),
        )


def _trimmed(text: str) -> str:
    """Without blank lines around it; the first line keeps its indent, which may mean code."""
    body = text.rstrip()
    indent = len(body) - len(body.lstrip())
    return body[body.rfind("\n", 0, indent) + 1 :]
