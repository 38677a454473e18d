"""What a user has set, and the keys that they brought."""

from __future__ import annotations

from peewee import (
    BigIntegerField,
    BlobField,
    BooleanField,
    DateTimeField,
    IntegerField,
    TextField,
    UUIDField,
)

from aijobs.models.tables.base import NOW, Table, default, index, one_of, rule

CREDENTIAL_STATES = ("active", "invalid")


class UserAiSettings(Table):
    """A user's switch, limits and time zone: the mutex of all that is decided about the user."""

    user_id = UUIDField(primary_key=True)
    ai_enabled = BooleanField(constraints=default("true"))
    max_daily_ai_jobs = IntegerField(constraints=default("20"))
    max_daily_token_budget = BigIntegerField(constraints=default("100000"))
    monthly_token_quota = BigIntegerField(null=True)
    max_active_jobs = IntegerField(constraints=default("5"))
    time_zone = TextField(constraints=default("'UTC'"))
    next_time_zone = TextField(null=True)  # acts from the old zone's next midnight
    next_time_zone_at = DateTimeField(null=True)
    created_at = DateTimeField(constraints=NOW)
    limits_changed_at = DateTimeField(null=True)  # by an administrator

    class Meta:
        table_name = "user_ai_settings"
        constraints = [
            rule(
                "user_ai_settings_next_zone",
                "(next_time_zone IS NULL) = (next_time_zone_at IS NULL)",
            )
        ]


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
