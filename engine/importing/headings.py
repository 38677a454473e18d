"""The headings of a Markdown text, as CommonMark has them: `## so`, or one line underlined.

Invariant: nothing inside code, quotes, comments and front matter is a heading. Reading takes time
in proportion to the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from aijobs.engine.importing.draft import MAX_POINTS, Drafts
from aijobs.engine.importing.lines import Line
from aijobs.engine.importing.prose import prose_of
from aijobs.engine.sentence import Sentence

_MAX_HEADINGS = 10 * MAX_POINTS
_LONGEST_UNDERLINED = 1000
_HASHES = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
#: Indented code, a list, a quote, a table; a rule. Such a line is no title, underlined or not.
_NO_TITLE = re.compile(
    r" {4}| {0,3}\t| {0,3}[>|=]| {0,3}(?:[-+*]|\d{1,9}[.)])(?:[ \t]|$)"
    r"| {0,3}([-*_])(?:[ \t]*\1)+[ \t]*$"
)


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; `start` and `end` are where its line (or two) begins and what is below it."""

    line: int
    level: int
    title: str
    start: int
    end: int


def headings_of(text: str, drafts: Drafts) -> list[Heading]:
    """All headings in order. Refuses through `drafts` a code block or comment without an end."""
    found: list[Heading] = []
    for heading in _headings(text, drafts):
        found.append(heading)
        if len(found) > _MAX_HEADINGS:
            many = Sentence("more than {limit} headings: split the file", limit=_MAX_HEADINGS)
            raise drafts.end(heading.line, many)
    return found


def _headings(text: str, drafts: Drafts) -> Iterator[Heading]:
    """`above` is a line that is a paragraph so far, and a heading if it turns out underlined."""
    above: Line | None = None
    is_paragraph = False
    for line in prose_of(text, drafts):
        heading = _with_hashes(line) or _underlined(above, line)
        if heading is not None:
            yield heading
            above, is_paragraph = None, False
        else:
            above = line if not is_paragraph and _may_be_title(line) else None
            is_paragraph = not line.is_blank


def _with_hashes(line: Line) -> Heading | None:
    match = _HASHES.match(line.text)
    if match is None:
        return None
    title = line.text[match.end() :].strip()
    without_closing = title.rstrip("#")
    if not without_closing or without_closing[-1] in " \t":
        title = without_closing
    return Heading(line.number, len(match[1]), _folded(title), line.start, line.next_start)


def _underlined(above: Line | None, line: Line) -> Heading | None:
    match = _UNDERLINE.match(line.text) if above is not None else None
    if above is None or match is None:
        return None
    level = 1 if match[1][0] == "=" else 2
    return Heading(above.number, level, _folded(above.text), above.start, line.next_start)


def _may_be_title(line: Line) -> bool:
    return (
        not line.is_blank
        and len(line.text) <= _LONGEST_UNDERLINED
        and _NO_TITLE.match(line.text) is None
    )


def _folded(title: str) -> str:
    return " ".join(title.split())
