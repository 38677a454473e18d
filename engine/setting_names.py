"""The environment variable of each setting, and the secrets that are no secret."""

from __future__ import annotations

#: Names without the AIJOBS_ prefix, since every tool knows them.
_PLAIN_NAMES = {
    "database_url": "DATABASE_URL",
    "database_direct_url": "DATABASE_DIRECT_URL",
    "redis_url": "REDIS_URL",
    "amqp_url": "AMQP_URL",
}
#: What signs tokens in development; production refuses them.
DEVELOPMENT_SECRETS = {
    "jwt_secret": "aijobs-development-secret-change-me",
    "runtime_service_token": "aijobs-development-runtime-token-change-me",
}


def variable(field: str) -> str:
    """The environment variable of a field."""
    return _PLAIN_NAMES.get(field, f"AIJOBS_{field.upper()}")
