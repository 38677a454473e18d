"""Master keys as a setting writes them: `id:base64`, comma-separated, the one that encrypts first.

Invariant: no text of a key is in an error, only the place of its entry.
"""

from __future__ import annotations

import base64
import binascii
import re
import secrets

_BYTES = 32
_KEY_ID = re.compile(r"[A-Za-z0-9._-]{1,32}")


def new_master_key(key_id: str) -> str:
    """A random one, as an entry of the setting."""
    return f"{key_id}:{base64.b64encode(secrets.token_bytes(_BYTES)).decode()}"


def parse_master_keys(text: str) -> dict[str, bytes]:
    """`id:base64,id2:base64` as key by id, the first one first.

    Raises ValueError saying which entry is at fault, by its place.
    """
    keys: dict[str, bytes] = {}
    for place, entry in enumerate(text.split(","), start=1):
        key_id, colon, encoded = entry.strip().partition(":")
        if not colon or not _KEY_ID.fullmatch(key_id):
            raise ValueError(f"entry {place} is not ID:BASE64")
        if key_id in keys:
            raise ValueError(f"entry {place} repeats an id")
        keys[key_id] = _decoded(encoded, place)
    return keys


def _decoded(encoded: str, place: int) -> bytes:
    """Plain or URL-safe alphabet, with or without padding."""
    plain = encoded.strip().rstrip("=").replace("-", "+").replace("_", "/")
    try:
        key = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != _BYTES:
        raise ValueError(f"entry {place} is not base64 of {_BYTES} bytes")
    return key
