"""Sealing every stored key with the first master key, and finding those that none opens.

Invariant: a rotation changes all keys or none, and never what a key is.
"""

from __future__ import annotations

from uuid import UUID

from aijobs.engine.vault import CannotOpen, Vault
from aijobs.models import credentials
from aijobs.models import database as db
from aijobs.models.credentials import SealedKey, sealed_key
from aijobs.models.tables import UserModelCredential


def rotate(vault: Vault) -> int:
    """How many keys were sealed anew. Raises CannotOpen at the first that none of them opens."""
    newest = vault.sealing_key_id

    def reseal(row: UserModelCredential) -> SealedKey | None:
        key = vault.open(sealed_key(row), user_id=row.user_id, credential_id=row.id)
        if row.key_id == newest:
            return None
        return vault.seal(key, user_id=row.user_id, credential_id=row.id)

    return credentials.reseal_all(reseal)


def unreadable(vault: Vault) -> dict[UUID, str]:
    """Why not, by credential, for every key that no master key opens."""
    found: dict[UUID, str] = {}
    for row in db.read(credentials.all_sealed):
        try:
            vault.open(sealed_key(row), user_id=row.user_id, credential_id=row.id)
        except CannotOpen as problem:
            found[row.id] = str(problem)
    return found
