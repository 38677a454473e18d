"""The secrets of one stack: random, made once, and kept in its directory for the owner alone."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path

from aijobs.engine.master_keys import new_master_key
from aijobs.http.embedded import env_file

_BYTES = 32


def _token() -> str:
    return secrets.token_urlsafe(_BYTES)


_MADE: dict[str, Callable[[], str]] = {
    "AIJOBS_JWT_SECRET": _token,
    "AIJOBS_RUNTIME_SERVICE_TOKEN": _token,
    "AIJOBS_MASTER_KEYS": lambda: new_master_key("stack-1"),
    "VALKEY_PASSWORD": _token,
}


def kept_secrets(path: Path) -> dict[str, str]:
    """The stack's secrets by name; what the file at `path` lacks is made and added."""
    kept = env_file.read(path) if path.exists() else {}
    missing = [name for name in _MADE if name not in kept]
    if missing:
        kept |= {name: _MADE[name]() for name in missing}
        env_file.write(path, kept)
    return kept
