"""Tokens of an identity provider: RS256 and ES256 by the public keys of a JWKS file, no others."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import falcon.testing
import jwt
import pytest
import redis
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from structlog.testing import capture_logs

from aijobs.engine.settings import Settings, SettingsError
from aijobs.http.app import create_app
from aijobs.http.jwks import PublicKeys, UnusableKeys
from aijobs.http.tokens import CannotIssue, Identity, InvalidToken, Verifier, issue
from tests.world import World, settings_for

USER = UUID("6f8a1c1e-64f3-4c2b-9a51-0d3f4a5b6c7d")
ALGORITHMS = ("RS256", "ES256")


@pytest.fixture(scope="module")
def keys() -> dict[str, Any]:
    """Private keys by name: two that fit each algorithm, and some that must not be taken."""
    return {
        "RS256": rsa.generate_private_key(65537, 2048),
        "RS256 next": rsa.generate_private_key(65537, 2048),
        "ES256": ec.generate_private_key(ec.SECP256R1()),
        "ES256 next": ec.generate_private_key(ec.SECP256R1()),
        "short": rsa.generate_private_key(65537, 1024),
        "P-384": ec.generate_private_key(ec.SECP384R1()),
    }


def _public(key: Any, kid: str | None, **more: Any) -> dict[str, Any]:
    is_rsa = isinstance(key, rsa.RSAPrivateKey)
    kind: Any = jwt.algorithms.RSAAlgorithm if is_rsa else jwt.algorithms.ECAlgorithm
    entry: dict[str, Any] = kind.to_jwk(key.public_key(), as_dict=True)
    return {**entry, **({} if kid is None else {"kid": kid}), **more}


def _write(path: Path, *entries: Any) -> Path:
    path.write_text(json.dumps({"keys": list(entries)}))
    return path


def _claims(**changes: Any) -> dict[str, Any]:
    return {"sub": str(USER), "role": "ADMIN", "exp": int(time.time()) + 60, **changes}


def _signed(key: Any, algorithm: str, kid: str | None = "one", **changes: Any) -> str:
    headers = None if kid is None else {"kid": kid}
    return jwt.encode(_claims(**changes), key, algorithm=algorithm, headers=headers)


def _settings(algorithm: str, path: Path, **more: Any) -> Settings:
    more |= {"jwt_algorithm": algorithm, "jwt_jwks_file": path}
    return settings_for("postgresql:///nowhere", "redis://127.0.0.1:1/0", **more)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_token_of_a_key_in_the_file_names_its_user(
    tmp_path: Path, keys: dict[str, Any], algorithm: str
) -> None:
    other = ALGORITHMS[1 - ALGORITHMS.index(algorithm)]
    path = _write(
        tmp_path / "jwks.json",
        _public(keys[other], "other"),
        _public(keys[algorithm], "one", use="sig", alg=algorithm),
        _public(keys[f"{algorithm} next"], "two"),
    )
    verifier = Verifier(_settings(algorithm, path))
    for kid, name in (("one", algorithm), ("two", f"{algorithm} next")):
        token = _signed(keys[name], algorithm, kid)
        assert verifier.verify(token) == Identity(USER, "ADMIN")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_other_token_is_refused(
    tmp_path: Path, keys: dict[str, Any], algorithm: str, subtests: pytest.Subtests
) -> None:
    key, stranger = keys[algorithm], keys[f"{algorithm} next"]
    other = ALGORITHMS[1 - ALGORITHMS.index(algorithm)]
    path = _write(tmp_path / "jwks.json", _public(key, "one"), _public(keys[other], "other"))
    settings = _settings(algorithm, path)
    pem = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    verifier = Verifier(settings)
    tokens = {
        "an unknown kid": _signed(key, algorithm, "three"),
        "no kid": _signed(key, algorithm, None),
        "another key under a known kid": _signed(stranger, algorithm),
        "another algorithm's key": _signed(keys[other], other, "other"),
        "no algorithm": _forged({"alg": "none", "kid": "one"}, b""),
        "our own secret": _signed(settings.jwt_secret.get_secret_value(), "HS256"),
        "the public key as a secret": _hmac_signed(pem),
        "expired": _signed(key, algorithm, exp=int(time.time()) - 60),
        "not yet": _signed(key, algorithm, nbf=int(time.time()) + 300),
        "a kid that is a list": _forged({"alg": algorithm, "kid": ["one"]}, b"x"),
        "garbage": "a.b.c",
    }
    for name, token in tokens.items():
        with subtests.test(name), pytest.raises(InvalidToken):
            verifier.verify(token)


def _forged(header: dict[str, Any], signature: bytes) -> str:
    parts = (json.dumps(header).encode(), json.dumps(_claims()).encode(), signature)
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


def _hmac_signed(secret: bytes) -> str:
    """By hand, since the library refuses to do it."""
    unsigned = _forged({"alg": "HS256", "kid": "one"}, b"").rstrip(".")
    signature = hmac.new(secret, unsigned.encode(), hashlib.sha256).digest()
    return f"{unsigned}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def test_a_file_that_changes_is_read_again_and_one_that_breaks_changes_nothing(
    tmp_path: Path, keys: dict[str, Any]
) -> None:
    path = _write(tmp_path / "jwks.json", _public(keys["ES256"], "one"))
    verifier = Verifier(_settings("ES256", path))
    old, new = (
        _signed(keys["ES256"], "ES256", "one"),
        _signed(keys["ES256 next"], "ES256", "two"),
    )
    with pytest.raises(InvalidToken):
        verifier.verify(new)
    both = (_public(keys["ES256"], "one"), _public(keys["ES256 next"], "two"))
    _write(path, *both)
    assert {verifier.verify(old), verifier.verify(new)} == {Identity(USER, "ADMIN")}
    for broken in ("", "{", '{"keys": []}'):
        path.write_text(broken)
        with capture_logs() as logs:
            assert verifier.verify(new) == verifier.verify(old)
        assert [line["event"] for line in logs] == ["token_keys_kept"]
    path.unlink()
    assert verifier.verify(old)
    replaced = _write(tmp_path / "next", _public(keys["ES256 next"], "two"))
    os.replace(replaced, path)
    assert verifier.verify(new)
    with pytest.raises(InvalidToken):
        verifier.verify(old)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "no JWKS"),
        ('{"keys": {}}', "no JWKS"),
        ('{"keys": []}', "no public ES256 key"),
        ('{"keys": [1, {}, {"kid": "one"}, {"kid": "one", "kty": "EC"}]}', "no public ES256 key"),
        ('{"keys": [{"kid": "one", "kty": "oct", "k": "c2VjcmV0"}]}', "no public ES256 key"),
    ],
)
def test_a_file_without_a_key_is_told_at_the_start(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "jwks.json"
    path.write_text(text)
    with pytest.raises(SettingsError, match=f"AIJOBS_JWT_JWKS_FILE cannot be used: .*{problem}"):
        Verifier(_settings("ES256", path))


def test_a_file_that_is_not_there_is_told_at_the_start(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(SettingsError, match="it cannot be read"):
            Verifier(_settings("RS256", path))


def test_keys_that_are_weak_private_or_for_something_else_are_not_taken(
    tmp_path: Path, keys: dict[str, Any]
) -> None:
    private = jwt.algorithms.ECAlgorithm.to_jwk(keys["ES256"], as_dict=True)
    cases = [
        ("RS256", [_public(keys["short"], "one")], "fewer than 2048 bits"),
        ("ES256", [_public(keys["P-384"], "one", alg="ES256")], "not of the curve P-256"),
        ("ES256", [{**private, "kid": "one"}], "private"),
        ("ES256", [_public(keys["ES256"], "one")] * 2, "two keys have the kid one"),
        ("ES256", [_public(keys["ES256"], "one", use="enc")], "no public ES256 key"),
        ("RS256", [_public(keys["RS256"], "one", alg="RS512")], "no public RS256 key"),
        ("RS256", [_public(keys["RS256"], None)], "no public RS256 key"),
    ]
    for algorithm, entries, problem in cases:
        path = _write(tmp_path / "jwks.json", *entries)
        with pytest.raises(UnusableKeys, match=problem):
            PublicKeys(path, algorithm)


def test_the_algorithm_and_the_file_belong_together(tmp_path: Path) -> None:
    places = {"DATABASE_URL": "postgresql:///nowhere", "REDIS_URL": "redis://127.0.0.1:1/0"}
    for wrong in (
        {"AIJOBS_JWT_ALGORITHM": "RS256"},
        {"AIJOBS_JWT_JWKS_FILE": str(tmp_path / "jwks.json")},
    ):
        with pytest.raises(SettingsError, match="AIJOBS_JWT_JWKS_FILE must be set when"):
            Settings.from_env(places | wrong)
    with pytest.raises(SettingsError, match="AIJOBS_JWT_ALGORITHM"):
        Settings.from_env(places | {"AIJOBS_JWT_ALGORITHM": "none"})


def test_what_is_signed_with_a_private_key_is_not_ours_to_issue(tmp_path: Path) -> None:
    with pytest.raises(CannotIssue, match="ES256"):
        issue(_settings("ES256", tmp_path / "jwks.json"), USER, "USER", 60)


@pytest.fixture
def client(
    here: World, redis_client: redis.Redis, tmp_path: Path, keys: dict[str, Any]
) -> falcon.testing.TestClient:
    """The API of an identity provider's users."""
    path = _write(tmp_path / "jwks.json", _public(keys["RS256"], "one"))
    changed = {"jwt_algorithm": "RS256", "jwt_jwks_file": path}
    settings = here.engine.settings.model_copy(update=changed)
    app = create_app(replace(here.engine, settings=settings), redis_client)
    return falcon.testing.TestClient(app)


def test_the_api_takes_them_and_refuses_the_others_with_one_body(
    client: falcon.testing.TestClient, here: World, keys: dict[str, Any]
) -> None:
    good = _signed(keys["RS256"], "RS256", sub=str(here.user_id), role="USER")
    assert _asked(client, good).status_code == 200
    refused = [
        _asked(client, token)
        for token in (
            issue(here.engine.settings, here.user_id, "USER", 60),
            _signed(keys["RS256"], "RS256", "three"),
            _signed(keys["RS256 next"], "RS256"),
        )
    ]
    assert [answer.status_code for answer in refused] == [401] * 3
    assert len({answer.json["detail"] + answer.json["title"] for answer in refused}) == 1


def _asked(client: falcon.testing.TestClient, token: str) -> falcon.testing.Result:
    return client.simulate_get("/api/ai/jobs", headers={"Authorization": f"Bearer {token}"})
