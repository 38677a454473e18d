"""The lines of a Markdown text that may be headings: front matter, fenced code and comments are
passed over, each leaving a blank line in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice

from aijobs.engine.importing.draft import Drafts
from aijobs.engine.importing.lines import Line, lines_of
from aijobs.engine.sentence import Sentence

_FRONT_MATTER = {"---": ("---", "..."), "+++": ("+++",)}
#: In a list too, where the item's mark comes before it.
_FENCE = re.compile(r" {0,3}(?:(?:[-+*]|\d{1,9}[.)])[ \t]+){0,9}(`{3,}(?=[^`]*$)|~{3,})")
_COMMENT = re.compile(r" {0,3}<!--(?!.*-->)")


def prose_of(text: str, drafts: Drafts) -> Iterator[Line]:
    """Refuses through `drafts` a code block or comment without an end."""
    lines = islice(lines_of(text), _front_matter(text), None)
    for line in lines:
        end = _end_of_block(line.text)
        if end is None:
            yield line
            continue
        if not any(end.search(inner.text) for inner in lines):
            raise drafts.end(line.number, _endless(line))
        yield line._replace(text="")


def _endless(opening: Line) -> Sentence:
    if opening.text.lstrip().startswith("<"):
        return Sentence("this comment has no end: close it as it was begun")
    return Sentence("this code block has no end: close it as it was begun")


def _front_matter(text: str) -> int:
    """How many lines it takes. As Pandoc has it: no blank line follows its first line."""
    lines = lines_of(text)
    first, second = next(lines, None), next(lines, None)
    if first is None or second is None or second.is_blank:
        return 0
    ends = _FRONT_MATTER.get(first.text.rstrip(), ())
    found = (line.number for line in chain((second,), lines) if line.text.rstrip() in ends)
    return next(found, 0) if ends else 0


def _end_of_block(opening: str) -> re.Pattern[str] | None:
    """What ends the block that this line opens; None when it opens none."""
    if _COMMENT.match(opening):
        return re.compile("-->")
    fence = _FENCE.match(opening)
    if fence is None:
        return None
    indent = fence.start(1) + 3
    mark = re.escape(fence[1][0])
    return re.compile(rf"^[ \t]{{0,{indent}}}{mark}{{{len(fence[1])},}}[ \t]*$")
