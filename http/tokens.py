"""The JWTs of users and admins: issued by the command line, verified at the API's door.

The algorithm is pinned by the settings; all but a fresh token of it, with a UUID and a known role,
is `InvalidToken`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Literal, get_args
from uuid import UUID, uuid5

import jwt

from aijobs.engine.settings import Settings, SettingsError
from aijobs.http.jwks import PublicKeys, UnusableKeys

Role = Literal["USER", "ADMIN", "SUPER_ADMIN"]
ROLES: tuple[Role, ...] = get_args(Role)

#: Names of the command line become user ids as UUIDv5 of this namespace.
USER_NAMESPACE = UUID("5b1f0c2e-7f0a-5d57-9d0e-2a4c8b6f1e30")

_SHARED_SECRET = "HS256"
_CLOCK_SKEW_SECONDS = 5


class InvalidToken(Exception):
    """The bearer token is not one of ours. The reason is for the log, never for the answer."""


class CannotIssue(Exception):
    """Tokens are signed with a private key that is not ours."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who asks, as a verified token says."""

    user_id: UUID
    role: Role


def issue(settings: Settings, user_id: UUID, role: Role, ttl: float) -> str:
    """A signed token that lapses `ttl` seconds from now. Raises CannotIssue."""
    if settings.jwt_algorithm != _SHARED_SECRET:
        raise CannotIssue(f"{settings.jwt_algorithm} tokens come from who has the private key")
    now = int(time.time())
    claims: dict[str, object] = {
        "sub": str(user_id),
        "role": role,
        "iat": now,
        "exp": int(now + ttl),
    }
    if settings.jwt_issuer:
        claims["iss"] = settings.jwt_issuer
    if settings.jwt_audience:
        claims["aud"] = settings.jwt_audience
    return jwt.encode(claims, settings.jwt_secret.get_secret_value(), algorithm=_SHARED_SECRET)


class Verifier:
    """Says who a token speaks for."""

    def __init__(self, settings: Settings) -> None:
        """Raises SettingsError when the keys cannot be used."""
        self._settings = settings
        self._public = _public_keys(settings)

    def verify(self, token: str) -> Identity:
        """Raises InvalidToken."""
        settings = self._settings
        try:
            claims = jwt.decode(
                token,
                self._key_of(token),
                algorithms=[settings.jwt_algorithm],
                options={"require": ["exp", "sub"], "verify_aud": bool(settings.jwt_audience)},
                issuer=settings.jwt_issuer or None,
                audience=settings.jwt_audience or None,
                leeway=_CLOCK_SKEW_SECONDS,
            )
        except (jwt.PyJWTError, ValueError) as error:  # ValueError: text that has no UTF-8 form
            raise InvalidToken(str(error)) from None
        return Identity(_subject(claims["sub"]), _role(claims.get("role")))

    def _key_of(self, token: str) -> Any:
        if self._public is None:
            return self._settings.jwt_secret.get_secret_value()
        key = self._public.get(jwt.get_unverified_header(token).get("kid"))
        if key is None:
            raise InvalidToken("its kid is not known")
        return key


def user_id_of(name: str) -> UUID:
    """The id of a user of the command line: a UUID is itself, another name is its UUIDv5."""
    try:
        return UUID(name)
    except ValueError:
        return uuid5(USER_NAMESPACE, name)


def _public_keys(settings: Settings) -> PublicKeys | None:
    if settings.jwt_jwks_file is None:
        return None
    try:
        return PublicKeys(settings.jwt_jwks_file, settings.jwt_algorithm)
    except UnusableKeys as problem:
        raise SettingsError([f"AIJOBS_JWT_JWKS_FILE cannot be used: {problem}"]) from None


def _subject(claim: str) -> UUID:
    try:
        user_id = UUID(claim)
    except ValueError:
        raise InvalidToken("sub is no UUID") from None
    if str(user_id) != claim.lower():  # urn:uuid:, braces, missing hyphens
        raise InvalidToken("sub is no UUID in its usual form")
    return user_id


def _role(claim: object) -> Role:
    if not isinstance(claim, str) or claim not in ROLES:
        raise InvalidToken("role is none of ours")
    return claim
