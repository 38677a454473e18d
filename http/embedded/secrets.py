"""The secrets of one stack: random, made once, and kept in its directory for the owner alone."""

from __future__ import annotations

import secrets
from pathlib import Path

from aijobs.http.embedded import env_file

_NAMES = ("AIJOBS_JWT_SECRET", "AIJOBS_RUNTIME_SERVICE_TOKEN", "VALKEY_PASSWORD")
_BYTES = 32


def kept_secrets(path: Path) -> dict[str, str]:
    """The stack's secrets by name; what the file at `path` lacks is made and added."""
    kept = env_file.read(path) if path.exists() else {}
    missing = [name for name in _NAMES if name not in kept]
    if missing:
        kept |= {name: secrets.token_urlsafe(_BYTES) for name in missing}
        env_file.write(path, kept)
    return kept
