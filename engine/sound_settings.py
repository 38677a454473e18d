"""What settings must be together, beyond what each must be by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from aijobs.engine.setting_names import DEVELOPMENT_SECRETS, variable

if TYPE_CHECKING:
    from aijobs.engine.settings import Settings

_MIN_SECRET_BYTES = 32
_BEGINNINGS = {
    "database_url": ("postgresql://", "postgres://"),
    "database_direct_url": ("postgresql://", "postgres://"),
    "redis_url": ("redis://", "rediss://", "unix://"),
    "amqp_url": ("amqp://", "amqps://"),
    "provider_base_url": ("https://", "http://"),
}


def contradictions(s: Settings) -> Iterator[str]:
    """What is wrong with them, a sentence each."""
    if s.heartbeat_seconds >= s.lease_seconds:
        yield (
            f"AIJOBS_HEARTBEAT_SECONDS ({s.heartbeat_seconds:g}) must be under "
            f"AIJOBS_LEASE_SECONDS ({s.lease_seconds:g}): a quarter of it is usual"
        )
    for name, beginnings in _BEGINNINGS.items():
        url = getattr(s, name)
        if url is not None and not url.startswith(beginnings):
            yield f"{variable(name)} must begin with {' or '.join(beginnings)}"
    for name, url in _located(s):
        if not _has_place(url):
            yield f"{name} names no place: check its host, its port and what needs escaping"
    for route in s.routes:
        if not route.api_key.get_secret_value():
            yield f"AIJOBS_ROUTES: {route.api_key_variable} is not set: give the key of that route"
    if s.provider == "openai" and not s.routes and s.provider_api_key is None:
        yield "AIJOBS_PROVIDER=openai needs AIJOBS_PROVIDER_API_KEY or AIJOBS_ROUTES"
    if (s.jwt_algorithm == "HS256") != (s.jwt_jwks_file is None):
        yield (
            "AIJOBS_JWT_JWKS_FILE must be set when AIJOBS_JWT_ALGORITHM is RS256 or ES256, and "
            f"only then (it is {s.jwt_algorithm})"
        )
    if s.amqp_url is not None:
        yield from _refusals_of_rabbitmq(s.amqp_url)
    if s.mode == "production":
        yield from _weak_secrets(s)


def _located(s: Settings) -> Iterator[tuple[str, str]]:
    """Whose URL is taken apart when it is used (PostgreSQL's own client reads its URL itself)."""
    yield "REDIS_URL", s.redis_url
    for url in s.amqp_url.split(";") if s.amqp_url else ():
        yield "AMQP_URL", url
    for route in s.routes:
        yield "AIJOBS_ROUTES: baseUrl", route.base_url
    yield "AIJOBS_PROVIDER_BASE_URL", s.provider_base_url


def _refusals_of_rabbitmq(urls: str) -> Iterator[str]:
    try:
        from pika import URLParameters  # an extra
    except ImportError:
        yield "AMQP_URL needs RabbitMQ's client: pip install 'aijobs[rabbitmq]'"
        return
    try:
        for url in urls.split(";"):
            if url.startswith(_BEGINNINGS["amqp_url"]) and _has_place(url):
                URLParameters(url)
    except ValueError:
        yield "AMQP_URL has parameters that RabbitMQ's client refuses: check what follows its ?"


def _has_place(url: str) -> bool:
    """Nothing of the URL is told: a password may stand where the port is looked for."""
    try:
        parts = urlsplit(url)
        return parts.port != 0 and (not url.startswith("http") or bool(parts.hostname))
    except ValueError:
        return False


def _weak_secrets(s: Settings) -> Iterator[str]:
    for name, default in DEVELOPMENT_SECRETS.items():
        if name == "jwt_secret" and s.jwt_algorithm != "HS256":
            continue  # nothing is signed with it
        for secret in getattr(s, name).get_secret_value().split(","):
            if secret == default or len(secret.encode()) < _MIN_SECRET_BYTES:
                yield (
                    f"{variable(name)} is the default or shorter than {_MIN_SECRET_BYTES} bytes, "
                    "which AIJOBS_MODE=production refuses: set a random one"
                )
                break
