"""The keys that users brought."""

from __future__ import annotations

from peewee import BlobField, DateTimeField, IntegerField, TextField, UUIDField

from aijobs.models.tables.base import NOW, Table, default, index, one_of

CREDENTIAL_STATES = ("active", "invalid")


class UserModelCredential(Table):
    """A user's own key, encrypted; `version` grows with every change of the key."""

    id = UUIDField(primary_key=True)
    version = IntegerField(constraints=default("1"))
    user_id = UUIDField()
    label = TextField()
    provider = TextField()
    base_url = TextField()
    ciphertext = BlobField()
    nonce = BlobField()
    key_id = TextField()
    last4 = TextField()
    status = TextField(constraints=default("'active'"))
    last_verified_at = DateTimeField(null=True)
    created_at = DateTimeField(constraints=NOW)
    deleted_at = DateTimeField(null=True)

    class Meta:
        table_name = "user_model_credential"
        constraints = [one_of("user_model_credential", "status", *CREDENTIAL_STATES)]


index(
    UserModelCredential,
    "user_model_credential_by_user",
    "user_id, created_at, id",
    where="deleted_at IS NULL",
)
