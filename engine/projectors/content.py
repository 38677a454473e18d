"""When two texts are the same content: equal after trimming and folding white space, case kept."""

from __future__ import annotations

import hashlib


def content_hash(text: str) -> str:
    """SHA-256 of the cleaned stem or front. No NFKC: x² is not x2."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()
