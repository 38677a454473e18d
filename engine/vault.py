"""Users' keys under lock: AES-256-GCM with a fresh 96-bit nonce per key.

Invariant: a sealed key opens for the user, credential and master key that it was sealed for alone,
and neither a master key nor a user's key is in a repr or an exception.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from aijobs.engine.master_keys import parse_master_keys
from aijobs.engine.settings import Settings
from aijobs.models.credentials import SealedKey

_NONCE_BYTES = 12


class VaultClosed(Exception):
    """A key cannot be sealed or opened here: the master keys are at fault, not the user."""


class NoMasterKey(VaultClosed):
    """This process was given no master key."""

    def __init__(self) -> None:
        super().__init__("AIJOBS_MASTER_KEYS is not set")


class CannotOpen(VaultClosed):
    """No master key of this process opens a credential."""

    def __init__(self, credential_id: UUID, reason: str) -> None:
        super().__init__(f"credential {credential_id} cannot be opened: {reason}")
        self.credential_id = credential_id


class Vault:
    """Seals with the first of the master keys, opens with any of them."""

    def __init__(self, master_keys: Mapping[str, bytes] | None = None) -> None:
        self._ciphers = {name: AESGCM(key) for name, key in (master_keys or {}).items()}

    @property
    def sealing_key_id(self) -> str:
        """The id of the master key that seals. Raises NoMasterKey."""
        for key_id in self._ciphers:
            return key_id
        raise NoMasterKey

    def seal(self, key: str, *, user_id: UUID, credential_id: UUID) -> SealedKey:
        """Encrypt a user's key. Raises NoMasterKey."""
        key_id = self.sealing_key_id
        nonce = secrets.token_bytes(_NONCE_BYTES)
        bound_to = _bound_to(user_id, credential_id, key_id)
        ciphertext = self._ciphers[key_id].encrypt(nonce, key.encode(), bound_to)
        return SealedKey(ciphertext, nonce, key_id)

    def open(self, sealed: SealedKey, *, user_id: UUID, credential_id: UUID) -> str:
        """Decrypt a user's key. Raises CannotOpen."""
        cipher = self._ciphers.get(sealed.key_id)
        if cipher is None:
            raise CannotOpen(credential_id, f"no master key has the id {sealed.key_id!r}")
        bound_to = _bound_to(user_id, credential_id, sealed.key_id)
        try:
            return cipher.decrypt(sealed.nonce, sealed.ciphertext, bound_to).decode()
        except (InvalidTag, ValueError):
            reason = f"master key {sealed.key_id!r} is another one, or the row was changed"
        raise CannotOpen(credential_id, reason)


def vault_of(settings: Settings) -> Vault:
    """The vault of the settings' master keys; without any it neither seals nor opens."""
    keys = settings.master_keys
    return Vault(None if keys is None else parse_master_keys(keys.get_secret_value()))


def _bound_to(user_id: UUID, credential_id: UUID, key_id: str) -> bytes:
    """Unambiguous, since the two ids have a fixed length."""
    return f"{user_id}|{credential_id}|{key_id}".encode()
