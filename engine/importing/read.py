"""From a file's bytes to points. One entry a format: a function from text to drafts."""

from __future__ import annotations

from collections.abc import Callable

from aijobs.engine.importing.csv_file import read_csv
from aijobs.engine.importing.draft import MAX_POINTS, Draft, Drafts
from aijobs.engine.importing.encoding import decode
from aijobs.engine.importing.markdown import read_markdown
from aijobs.engine.sentence import Sentence

MAX_BYTES = 10_000_000
#: 100 for each point; what takes time is lines, not bytes.
MAX_LINES = 100 * MAX_POINTS

FORMATS: dict[str, Callable[[str, Drafts], None]] = {"markdown": read_markdown, "csv": read_csv}


def read_points(raw: bytes, file_format: str, *, charset: str | None = None) -> list[Draft]:
    """The points of a file, in its order; at least one.

    `charset` is what the sender says about the encoding. Raises Refused INVALID_REQUEST with one
    entry a fault, its field `line 12`.
    """
    drafts = Drafts()
    text = decode(raw, charset)
    if not text or text.isspace():
        raise drafts.end(1, Sentence("the file is empty: choose one that holds points"))
    if text.count("\n") > MAX_LINES:
        many = Sentence("more than {limit} lines: split the file", limit=MAX_LINES)
        raise drafts.end(MAX_LINES + 1, many)
    FORMATS[file_format](text, drafts)
    return drafts.all()
