"""The public keys of tokens: a JWKS file (RFC 7517), read again when it changes.

Invariant: only keys of the one algorithm that is configured are ever used, and a file that cannot
be used any more changes nothing.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jwt
import structlog
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

_MIN_RSA_BITS = 2048

log = structlog.get_logger()


class UnusableKeys(Exception):
    """The file cannot be used; the text says why."""


class PublicKeys:
    """The keys of a file that fit an algorithm (RS256 or ES256), by their `kid`."""

    def __init__(self, path: Path, algorithm: str) -> None:
        """Raises UnusableKeys."""
        self._path = path
        self._algorithm = algorithm
        self._lock = threading.Lock()
        self._state = self._stat()
        self._keys = self._read()

    def get(self, kid: object) -> Any:
        """The key with this id, as of now; None when there is none."""
        self._read_again()
        return self._keys.get(kid) if isinstance(kid, str) else None

    def _read_again(self) -> None:
        with self._lock:
            try:
                state = self._stat()
                if state == self._state:
                    return
                self._state = state
                self._keys = self._read()
                log.info("token_keys_read", kids=sorted(self._keys))
            except UnusableKeys as problem:
                log.error("token_keys_kept", problem=str(problem))

    def _stat(self) -> tuple[int, int, int]:
        try:
            found = self._path.stat()
        except OSError as error:
            raise UnusableKeys(f"it cannot be read ({error.strerror})") from None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read(self) -> dict[str, Any]:
        try:
            document = json.loads(self._path.read_text(encoding="utf-8"))
        except OSError as error:
            raise UnusableKeys(f"it cannot be read ({error.strerror})") from None
        except (ValueError, RecursionError):
            raise UnusableKeys("it is not JSON") from None
        keys = dict(_keys_in(document, self._algorithm))
        if not keys:
            raise UnusableKeys(f"it has no public {self._algorithm} key with a kid")
        return keys


def _keys_in(document: Any, algorithm: str) -> Iterator[tuple[str, Any]]:
    entries = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise UnusableKeys('it is no JWKS: {"keys": [...]}')
    seen: set[str] = set()
    for entry in entries:
        found = _key_of(entry, algorithm)
        if found is None:
            continue
        kid = entry["kid"]
        if kid in seen:
            raise UnusableKeys(f"two keys have the kid {kid}")
        seen.add(kid)
        yield kid, found


def _key_of(entry: Any, algorithm: str) -> Any:
    """The key of an entry, None when it is for something else."""
    if not isinstance(entry, dict) or not isinstance(entry.get("kid"), str):
        return None
    if "d" in entry:
        raise UnusableKeys(f"key {entry['kid']} is a private one: publish its public half alone")
    try:
        made = jwt.PyJWK(entry)
    except jwt.PyJWTError:
        return None
    if made.algorithm_name != algorithm or made.public_key_use not in (None, "sig"):
        return None
    return _strong(made.key, entry["kid"])


def _strong(key: Any, kid: str) -> Any:
    if isinstance(key, RSAPublicKey) and key.key_size < _MIN_RSA_BITS:
        raise UnusableKeys(f"key {kid} has fewer than {_MIN_RSA_BITS} bits")
    if isinstance(key, EllipticCurvePublicKey) and not isinstance(key.curve, SECP256R1):
        raise UnusableKeys(f"key {kid} is not of the curve P-256")
    return key
