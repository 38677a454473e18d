"""Users' own keys, sealed: nothing here knows how to open one.

Invariant: every statement about one credential names its user, and what a provider said of a key is
written to the version that was tried, never to a newer one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from aijobs.models import database as db
from aijobs.models.columns import columns_of, one
from aijobs.models.paging import Place, newest_first
from aijobs.models.tables import AiJob, UserModelCredential


@dataclass(frozen=True, slots=True)
class SealedKey:
    """An encrypted key, and the id of the master key that opens it."""

    ciphertext: bytes = field(repr=False)
    nonce: bytes = field(repr=False)
    key_id: str


@dataclass(frozen=True, slots=True)
class NewCredential:
    """A credential to add, or what one becomes; `sealed` and `last4` None: the key stays."""

    id: UUID
    user_id: UUID
    label: str
    provider: str
    base_url: str
    sealed: SealedKey | None
    last4: str | None


@dataclass(frozen=True, slots=True)
class KeyInUse:
    """Which version of whose credential was tried."""

    id: UUID
    user_id: UUID
    version: int


def add(new: NewCredential) -> UserModelCredential:
    """Store a new credential."""
    db.statement("credential", _ADD, _params(new))
    made = db.read(lambda: get(new.id, new.user_id))
    assert made is not None
    return made


def page(user_id: UUID, *, after: Place | None, limit: int) -> list[UserModelCredential]:
    """The user's credentials, newest first."""
    query = UserModelCredential.select().where(
        (UserModelCredential.user_id == user_id) & UserModelCredential.deleted_at.is_null()
    )
    return newest_first(query, UserModelCredential, after, limit)


def get(credential_id: UUID, user_id: UUID) -> UserModelCredential | None:
    """The user's credential, unless it is deleted."""
    return one(UserModelCredential, _THIS, {"id": credential_id, "user_id": user_id})


def active(user_id: UUID, limit: int) -> list[UserModelCredential]:
    """The user's credentials that no provider has refused, oldest first."""
    query = UserModelCredential.select().where(
        (UserModelCredential.user_id == user_id)
        & UserModelCredential.deleted_at.is_null()
        & (UserModelCredential.status == "active")
    )
    return list(query.order_by(UserModelCredential.created_at, UserModelCredential.id).limit(limit))


def change(new: NewCredential) -> bool:
    """Whether it was changed: a key goes to no other base URL than the one it was given for."""
    return bool(db.statement("credential", _CHANGE, _params(new)))


def delete(credential_id: UUID, user_id: UUID) -> bool:
    """Forget the key and hide its row; whether there was one."""
    return bool(db.statement("credential", _DELETE, {"id": credential_id, "user_id": user_id}))


def verified(key: KeyInUse) -> bool:
    """The provider took this version: whether it is still the present one."""
    return bool(db.statement("credential", _VERIFIED, columns_of(key)))


def mark_invalid(key: KeyInUse) -> bool:
    """The provider refused this version: whether it is still the present one.

    Joins the caller's transaction, if there is one.
    """
    if db.in_transaction():
        return bool(db.rows(_INVALID, columns_of(key)))
    return bool(db.statement("credential", _INVALID, columns_of(key)))


def tell_owner(job: AiJob, key: KeyInUse, notification_id: UUID) -> None:
    """Tell a user that their key ended this job, in the caller's transaction; once per job.

    The kind says whether the key was refused (`credential_invalid`) or the account behind it or its
    model cannot be used (`credential_account`).
    """
    params = {"id": notification_id, "job_id": job.id, "key": key.id}
    db.rows(_TELL, params)


def sealed_key(credential: UserModelCredential) -> SealedKey:
    """The encrypted key of a row."""
    return SealedKey(bytes(credential.ciphertext), bytes(credential.nonce), credential.key_id)


def all_sealed() -> list[UserModelCredential]:
    """Every credential that still has a key, by id."""
    return list(UserModelCredential.raw(_ALL))


def reseal_all(reseal: Callable[[UserModelCredential], SealedKey | None]) -> int:
    """Replace every sealed key by what `reseal` makes of it (None: it stays); how many were.

    One transaction: whatever `reseal` raises leaves all as they were.
    """

    def work() -> int:
        found = list(UserModelCredential.raw(f"{_ALL} FOR UPDATE"))
        made = [(row.id, sealed) for row in found if (sealed := reseal(row)) is not None]
        for credential_id, sealed in made:
            db.rows(_RESEAL, {"id": credential_id, **columns_of(sealed)})
        return len(made)

    return db.transact("credential", work)


def _params(new: NewCredential) -> dict[str, Any]:
    sealed = {"ciphertext": None, "nonce": None, "key_id": None}
    if new.sealed is not None:
        sealed = columns_of(new.sealed)
    return columns_of(new) | sealed


_THIS = "id = %(id)s AND user_id = %(user_id)s AND deleted_at IS NULL"

_ADD = """
INSERT INTO user_model_credential
    (id, user_id, label, provider, base_url, ciphertext, nonce, key_id, last4)
VALUES (%(id)s, %(user_id)s, %(label)s, %(provider)s, %(base_url)s, %(ciphertext)s, %(nonce)s,
        %(key_id)s, %(last4)s)
ON CONFLICT (id) DO NOTHING
"""

_CHANGE = f"""
UPDATE user_model_credential
SET label = %(label)s, provider = %(provider)s, base_url = %(base_url)s,
    ciphertext = coalesce(%(ciphertext)s, ciphertext), nonce = coalesce(%(nonce)s, nonce),
    key_id = coalesce(%(key_id)s, key_id), last4 = coalesce(%(last4)s, last4),
    version = version + (%(key_id)s::text IS NOT NULL)::int,
    status = CASE WHEN %(key_id)s::text IS NULL THEN status ELSE 'active' END,
    last_verified_at = CASE WHEN %(key_id)s::text IS NULL THEN last_verified_at END
WHERE {_THIS} AND (base_url = %(base_url)s OR %(key_id)s::text IS NOT NULL)
RETURNING id
"""

_DELETE = f"""
UPDATE user_model_credential SET deleted_at = now(), ciphertext = '', nonce = ''
WHERE {_THIS} RETURNING id
"""

_VERIFIED = f"""
UPDATE user_model_credential SET status = 'active', last_verified_at = now()
WHERE {_THIS} AND version = %(version)s RETURNING id
"""

_INVALID = f"""
UPDATE user_model_credential SET status = 'invalid'
WHERE {_THIS} AND version = %(version)s RETURNING id
"""

_TELL = """
INSERT INTO notification (id, user_id, job_id, kind, payload)
SELECT %(id)s, user_id, id,
       CASE error_code WHEN 'CREDENTIAL_INVALID' THEN 'credential_invalid'
                       ELSE 'credential_account' END,
       jsonb_build_object('jobType', job_type, 'errorCode', error_code, 'credentialId', %(key)s)
FROM ai_job WHERE id = %(job_id)s
ON CONFLICT DO NOTHING
"""

_ALL = "SELECT * FROM user_model_credential WHERE deleted_at IS NULL ORDER BY id"

_RESEAL = """
UPDATE user_model_credential
SET ciphertext = %(ciphertext)s, nonce = %(nonce)s, key_id = %(key_id)s WHERE id = %(id)s
"""
