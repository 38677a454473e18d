"""Tokens: what `issue` signs is verified, and everything else is refused."""

from __future__ import annotations

import base64
import json
import time
from typing import Any
from uuid import UUID

import jwt
import pytest

from aijobs.engine.settings import Settings
from aijobs.http.tokens import ROLES, Identity, InvalidToken, Role, Verifier, issue, user_id_of

SECRET = "a-secret-of-the-tests-that-is-long-enough-for-sha512-which-wants-64-bytes"
USER = UUID("6f8a1c1e-64f3-4c2b-9a51-0d3f4a5b6c7d")


def _settings(**more: str) -> Settings:
    places = {"DATABASE_URL": "postgresql:///nowhere", "REDIS_URL": "redis://127.0.0.1:1/0"}
    return Settings.from_env({**places, "AIJOBS_JWT_SECRET": SECRET, **more})


def _claims(**changes: Any) -> dict[str, Any]:
    claims = {"sub": str(USER), "role": "USER", "exp": int(time.time()) + 60, **changes}
    return {name: value for name, value in claims.items() if value is not None}


def _signed(claims: dict[str, Any], key: str = SECRET, algorithm: str = "HS256") -> str:
    return jwt.encode(claims, key, algorithm=algorithm)


def _unsigned(header: dict[str, Any], claims: dict[str, Any]) -> str:
    parts = (json.dumps(part).encode() for part in (header, claims))
    return b".".join(
        [base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts] + [b""]
    ).decode()


@pytest.mark.parametrize("role", ROLES)
def test_an_issued_token_names_its_user_and_role(role: Role) -> None:
    assert Verifier(_settings()).verify(issue(_settings(), USER, role, 60)) == Identity(USER, role)


def test_issuer_and_audience_are_written_and_demanded_when_configured() -> None:
    strict = _settings(AIJOBS_JWT_ISSUER="https://id.example", AIJOBS_JWT_AUDIENCE="aijobs")
    assert Verifier(strict).verify(issue(strict, USER, "USER", 60)).user_id == USER


def test_issuer_and_audience_are_ignored_when_not_configured() -> None:
    assert (
        Verifier(_settings()).verify(_signed(_claims(iss="anyone", aud="anything"))).user_id == USER
    )


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"iss": "https://id.example"},
        {"aud": "aijobs"},
        {"iss": "https://other.example", "aud": "aijobs"},
        {"iss": "https://id.example", "aud": "other"},
        {"iss": ["https://id.example"], "aud": "aijobs"},
    ],
)
def test_a_missing_or_foreign_issuer_or_audience_is_refused(changes: dict[str, Any]) -> None:
    strict = _settings(AIJOBS_JWT_ISSUER="https://id.example", AIJOBS_JWT_AUDIENCE="aijobs")
    with pytest.raises(InvalidToken):
        Verifier(strict).verify(_hand_signed(_claims(**changes)))


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"exp": None}, id="no exp"),
        pytest.param({"exp": "soon"}, id="exp is no number"),
        pytest.param({"exp": float("inf")}, id="exp is infinite"),
        pytest.param({"exp": int(time.time()) - 3600}, id="lapsed"),
        pytest.param({"nbf": int(time.time()) + 3600}, id="not yet valid"),
        pytest.param({"iat": int(time.time()) + 3600}, id="issued in the future"),
        pytest.param({"sub": None}, id="no sub"),
        pytest.param({"sub": 7}, id="sub is a number"),
        pytest.param({"sub": ""}, id="sub is empty"),
        pytest.param({"sub": "demo"}, id="sub is a name"),
        pytest.param({"sub": USER.hex}, id="sub without hyphens"),
        pytest.param({"sub": USER.urn}, id="sub is a URN"),
        pytest.param({"sub": f"{{{USER}}}"}, id="sub in braces"),
        pytest.param({"role": None}, id="no role"),
        pytest.param({"role": "user"}, id="role in lower case"),
        pytest.param({"role": "ROOT"}, id="unknown role"),
        pytest.param({"role": ["SUPER_ADMIN"]}, id="a list of roles"),
    ],
)
def test_odd_claims_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidToken):
        Verifier(_settings()).verify(_hand_signed(_claims(**changes)))


def test_a_clock_five_minutes_off_is_refused_and_one_two_seconds_off_is_not() -> None:
    now = int(time.time())
    assert Verifier(_settings()).verify(_signed(_claims(nbf=now + 2))).user_id == USER
    with pytest.raises(InvalidToken):
        Verifier(_settings()).verify(_signed(_claims(nbf=now + 300)))
    with pytest.raises(InvalidToken):
        Verifier(_settings()).verify(_signed(_claims(exp=now - 300)))


@pytest.mark.parametrize("algorithm", ["HS384", "HS512"])
def test_another_algorithm_is_refused_even_with_the_right_key(algorithm: str) -> None:
    with pytest.raises(InvalidToken):
        Verifier(_settings()).verify(_signed(_claims(), algorithm=algorithm))


@pytest.mark.parametrize("name", ["none", "None", "NONE", "", None, ["HS256"], "RS256"])
def test_an_unsigned_token_is_refused_whatever_it_calls_its_algorithm(name: Any) -> None:
    with pytest.raises(InvalidToken):
        Verifier(_settings()).verify(_unsigned({"alg": name, "typ": "JWT"}, _claims()))


def test_another_key_is_refused() -> None:
    with pytest.raises(InvalidToken):
        Verifier(_settings()).verify(_signed(_claims(), key=SECRET[::-1]))


def test_a_changed_claim_breaks_the_signature() -> None:
    header, _, signature = _signed(_claims()).split(".")
    forged = _signed(_claims(role="SUPER_ADMIN")).split(".")[1]
    with pytest.raises(InvalidToken):
        Verifier(_settings()).verify(f"{header}.{forged}.{signature}")


@pytest.mark.parametrize(
    "text", ["", "x", "a.b", "a.b.c", "....", "é.é.é", "\ud800.a.b", "x" * 10_000]
)
def test_what_is_no_token_is_refused(text: str) -> None:
    with pytest.raises(InvalidToken):
        Verifier(_settings()).verify(text)


def test_a_deeply_nested_header_is_refused() -> None:
    header = base64.urlsafe_b64encode(b"[" * 50_000).rstrip(b"=").decode()
    with pytest.raises(InvalidToken):
        Verifier(_settings()).verify(f"{header}.e30.e30")


def test_a_name_always_means_the_same_user_and_a_uuid_means_itself() -> None:
    # python -c 'import uuid; print(uuid.uuid5(USER_NAMESPACE, "demo"))', once and for all
    assert user_id_of("demo") == UUID("d5e5c998-82ad-5d90-9b07-8abddd74a5a4")
    assert user_id_of("other") != user_id_of("demo")
    assert user_id_of(str(USER)) == USER


def _hand_signed(claims: dict[str, Any]) -> str:
    """Signed with the right key without PyJWT's own checks of what is signed."""
    return jwt.api_jws.encode(json.dumps(claims).encode(), SECRET, algorithm="HS256")
