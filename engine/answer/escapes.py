"""Backslashes that JSON does not know: TeX in text, an apostrophe, quotes escaped once too often.

Invariant: a legal escape is never touched, so what parses as it is stays what it is.
"""

from __future__ import annotations

import json
import re

_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_LEGAL = frozenset('"\\/bfnrt')
_BLANKS = r"(?:\s|\\[nrt])*+"
_ESCAPED_START = re.compile(rf'[{{\[]{_BLANKS}(?:[{{\[]{_BLANKS})?\\"')


def mend_escapes(text: str) -> str:
    """Illegal escapes with their backslash doubled; an escaped apostrophe without it."""
    return _ESCAPE.sub(_mended, text)


def _mended(match: re.Match[str]) -> str:
    escape = match[1]
    if escape in _LEGAL or len(escape) == 5:
        return match[0]
    return "'" if escape == "'" else "\\\\" + escape


def unescape_quotes(text: str) -> str | None:
    """The document whose every quote is escaped, decoded once; None when it is not one of those."""
    if not _ESCAPED_START.match(text) or re.search(r'(?<!\\)"', text):
        return None
    try:
        decoded = json.loads(f'"{text}"', strict=False)
    except ValueError:
        return None
    return str(decoded)
