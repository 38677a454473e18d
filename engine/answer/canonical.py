"""One text for one value, so that equal outputs have equal hashes on every machine.

Invariant: key order and spacing of the source do not show; nothing that is not JSON has a canonical
form.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical_json(value: Any) -> str:
    """Sorted keys at every depth, no spaces, characters as they are. Raises ValueError on NaN."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def output_hash(value: Any) -> str:
    """SHA-256 of the canonical JSON in UTF-8, in hex."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()
