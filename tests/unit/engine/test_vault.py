"""Sealing users' keys: what opens them, what does not, and what shows of them."""

from __future__ import annotations

import base64
from dataclasses import replace
from uuid import UUID, uuid4

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from aijobs.engine.master_keys import new_master_key, parse_master_keys
from aijobs.engine.settings import Settings, SettingsError
from aijobs.engine.vault import CannotOpen, NoMasterKey, Vault
from aijobs.models.credentials import SealedKey

FIRST, SECOND = bytes(range(32)), bytes(range(32, 64))
USER, CREDENTIAL = UUID(int=1), UUID(int=2)
KEY = "canary0123456789abcdef"
ENVIRON = {"DATABASE_URL": "postgresql:///x", "REDIS_URL": "redis://127.0.0.1"}


def seal(vault: Vault, key: str = KEY) -> SealedKey:
    return vault.seal(key, user_id=USER, credential_id=CREDENTIAL)


def unseal(
    vault: Vault, sealed: SealedKey, user: UUID = USER, credential: UUID = CREDENTIAL
) -> str:
    return vault.open(sealed, user_id=user, credential_id=credential)


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=600))
def test_what_was_sealed_opens(key: str) -> None:
    vault = Vault({"a": FIRST})
    assert unseal(vault, seal(vault, key)) == key


def test_the_form_is_aes_256_gcm_bound_to_user_credential_and_key_id() -> None:
    sealed = seal(Vault({"a": FIRST}))
    bound_to = f"{USER}|{CREDENTIAL}|a".encode()
    assert len(sealed.nonce) == 12
    assert AESGCM(FIRST).decrypt(sealed.nonce, sealed.ciphertext, bound_to) == KEY.encode()


def test_no_nonce_comes_twice() -> None:
    vault = Vault({"a": FIRST})
    assert len({seal(vault).nonce for _ in range(1000)}) == 1000


def test_the_first_seals_and_all_open() -> None:
    old = seal(Vault({"a": FIRST}))
    vault = Vault({"b": SECOND, "a": FIRST})
    assert seal(vault).key_id == "b"
    assert unseal(vault, old) == unseal(vault, seal(vault)) == KEY


@pytest.mark.parametrize(
    "vault", [Vault({"a": SECOND}), Vault({"b": FIRST}), Vault()], ids=["bytes", "id", "none"]
)
def test_another_master_key_opens_nothing(vault: Vault) -> None:
    with pytest.raises(CannotOpen) as raised:
        unseal(vault, seal(Vault({"a": FIRST})))
    assert raised.value.credential_id == CREDENTIAL
    assert KEY not in f"{raised.value!r} {raised.value} {vars(raised.value)}"
    assert raised.value.__cause__ is raised.value.__context__ is None


def test_a_row_that_was_moved_or_changed_does_not_open() -> None:
    vault = Vault({"a": FIRST, "b": FIRST})
    sealed = seal(vault)
    flipped = bytes([sealed.ciphertext[0] ^ 1]) + sealed.ciphertext[1:]
    for changed in (
        replace(sealed, ciphertext=flipped),
        replace(sealed, ciphertext=sealed.ciphertext[:-1]),
        replace(sealed, ciphertext=b""),
        replace(sealed, nonce=bytes(12)),
        replace(sealed, nonce=b""),
        replace(sealed, key_id="b"),
    ):
        with pytest.raises(CannotOpen):
            unseal(vault, changed)
    for user, credential in ((uuid4(), CREDENTIAL), (USER, uuid4()), (CREDENTIAL, USER)):
        with pytest.raises(CannotOpen):
            unseal(vault, sealed, user, credential)


def test_nothing_is_sealed_without_a_master_key() -> None:
    with pytest.raises(NoMasterKey):
        seal(Vault())


def test_no_repr_shows_a_key() -> None:
    vault = Vault({"a": FIRST})
    shown = repr((vault, vars(vault), seal(vault)))
    assert KEY not in shown
    assert repr(FIRST)[2:-1] not in shown
    text = f"a:{base64.b64encode(FIRST).decode()}"
    assert text not in repr(Settings.from_env({**ENVIRON, "AIJOBS_MASTER_KEYS": text}))


def test_entries_are_read_in_their_order_and_either_alphabet() -> None:
    sharp = bytes([0xFB, 0xEF] * 16)
    plain, url_safe = base64.b64encode(sharp), base64.urlsafe_b64encode(sharp).rstrip(b"=")
    assert plain != url_safe
    text = f"b:{plain.decode()} , a:{url_safe.decode()}"
    assert list(parse_master_keys(text).items()) == [("b", sharp), ("a", sharp)]


def test_a_new_one_is_an_entry_and_random() -> None:
    first, second = new_master_key("k"), new_master_key("k")
    assert first != second
    assert len(parse_master_keys(first)["k"]) == 32


_KEY = "a:" + base64.b64encode(FIRST).decode()


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("c2VjcmV0", 1),
        (":" + base64.b64encode(FIRST).decode(), 1),
        ("a:" + base64.b64encode(FIRST[:31]).decode(), 1),
        ("a:" + base64.b64encode(FIRST + b"x").decode(), 1),
        ("a:secret passphrase of thirty-two b", 1),
        ("a:", 1),
        ("with space:" + base64.b64encode(FIRST).decode(), 1),
        (f"{_KEY},{_KEY}", 2),
        (f"{_KEY},", 2),
    ],
)
def test_what_is_no_master_key_stops_the_process_without_an_echo(text: str, place: int) -> None:
    with pytest.raises(SettingsError) as raised:
        Settings.from_env({**ENVIRON, "AIJOBS_MASTER_KEYS": text})
    [problem] = raised.value.problems
    assert problem.startswith(f"AIJOBS_MASTER_KEYS cannot be used: entry {place} ")
    assert not any(part in problem for part in text.replace(",", ":").split(":") if len(part) > 8)
