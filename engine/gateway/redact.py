"""What may be kept of a text that came over the wire.

Invariant: neither the key of the call nor anything that looks like one is in it, and it is short.
"""

from __future__ import annotations

import re

_KEPT_CHARACTERS = 1000
_HIDDEN = "[hidden]"
_LIKE_SECRETS = (
    re.compile(r"\bbearer\s+[^\s\"'<>,;]+", re.IGNORECASE),
    re.compile(r"\b(?:sk|pk|rk|key)-[^\s\"'<>,;]+", re.IGNORECASE),
    re.compile(r"(?<=://)[^/\s@\"'<>]+@"),
    re.compile(r"\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*"),
)


def redact(text: str, key: str) -> str:
    """`text` in one line without secrets, at most 1000 characters."""
    key = key.strip()
    if key:
        text = re.sub(re.escape(key), _HIDDEN, text, flags=re.IGNORECASE)  # codes come lower-cased
    for pattern in _LIKE_SECRETS:
        text = pattern.sub(_HIDDEN, text)
    return " ".join(_printable(text).split())[:_KEPT_CHARACTERS]


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)
