"""/model-credentials: a key goes in, is changed and forgotten, and never comes out."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
import redis

from tests.integration.credentials.detour import KEY, add_key, row_of
from tests.integration.http.caller import Caller, caller, problem
from tests.scripted_provider import ScriptedProvider
from tests.world import World, settings_for, whole_database, world

PATH = "/model-credentials"
OTHER_KEY = "another-key-of-mine-98765"


def test_a_key_is_told_by_its_last_four_characters_alone(me: Caller, wired: World) -> None:
    body = {"label": "Mine", "provider": "deepseek", "apiKey": KEY}
    made = me.post(PATH, body)
    assert made.status_code == 201
    assert made.headers["Location"] == f"/api/ai{PATH}/{made.json['id']}"
    told = {name: value for name, value in made.json.items() if name not in ("id", "createdAt")}
    assert told == {
        "label": "Mine",
        "provider": "deepseek",
        "baseUrl": "https://api.deepseek.com",
        "last4": "cdef",
        "status": "active",
        "version": 1,
    }
    one, listed = me.get(f"{PATH}/{made.json['id']}"), me.get(PATH)
    assert one.json == made.json
    assert listed.json == {"items": [made.json], "nextCursor": None}
    for answer in (made, one, listed):
        assert KEY not in answer.text
    row = row_of(UUID(made.json["id"]))
    assert (row.user_id, row.key_id) == (wired.user_id, "test-1")
    assert KEY.encode() not in bytes(row.ciphertext)
    assert len(bytes(row.nonce)) == 12


def test_two_equal_keys_are_sealed_differently(me: Caller) -> None:
    first, second = row_of(add_key(me)), row_of(add_key(me))
    assert bytes(first.nonce) != bytes(second.nonce)
    assert bytes(first.ciphertext) != bytes(second.ciphertext)


def test_a_list_comes_newest_first_page_by_page(me: Caller) -> None:
    made = [str(add_key(me, label=f"key {number}")) for number in range(5)]
    assert [item["id"] for item in me.pages(PATH, limit=2)] == made[::-1]


def test_what_a_change_leaves_out_stays(me: Caller, wired: World) -> None:
    credential_id = add_key(me, label="Old")
    before = row_of(credential_id)
    changed = me.put(f"{PATH}/{credential_id}", {"label": "New"})
    assert (changed.status_code, changed.json["label"]) == (200, "New")
    assert (changed.json["version"], changed.json["last4"]) == (1, "cdef")
    assert bytes(row_of(credential_id).ciphertext) == bytes(before.ciphertext)


def test_a_new_key_is_a_new_version_that_is_active_and_unverified(
    me: Caller, server: ScriptedProvider
) -> None:
    credential_id = add_key(me)
    me.post(f"{PATH}/{credential_id}/test", {})
    server.script("401")
    me.post(f"{PATH}/{credential_id}/test", {})
    assert row_of(credential_id).status == "invalid"
    changed = me.put(f"{PATH}/{credential_id}", {"apiKey": OTHER_KEY}).json
    assert (changed["version"], changed["status"], changed["last4"]) == (2, "active", "8765")
    assert "lastVerifiedAt" not in changed


def test_a_key_goes_to_no_other_address_than_it_was_given_for(me: Caller) -> None:
    credential_id = add_key(me)
    before = whole_database()
    for body in ({"baseUrl": "https://api.openai.com/v1"}, {"provider": "openai"}):
        assert problem(me.put(f"{PATH}/{credential_id}", body)) == (
            400,
            "INVALID_REQUEST",
            ["apiKey"],
        )
    assert whole_database() == before
    moved = me.put(f"{PATH}/{credential_id}", {"provider": "openai", "apiKey": OTHER_KEY})
    assert moved.json["baseUrl"] == "https://api.openai.com/v1"


def test_a_deleted_key_is_gone_for_good(me: Caller) -> None:
    credential_id = add_key(me)
    assert me.delete(f"{PATH}/{credential_id}").status_code == 204
    row = row_of(credential_id)
    assert row.deleted_at is not None
    assert (bytes(row.ciphertext), bytes(row.nonce)) == (b"", b"")
    assert me.get(PATH).json["items"] == []
    for answer in (
        me.get(f"{PATH}/{credential_id}"),
        me.put(f"{PATH}/{credential_id}", {"apiKey": OTHER_KEY}),
        me.delete(f"{PATH}/{credential_id}"),
        me.post(f"{PATH}/{credential_id}/test", {}),
    ):
        assert problem(answer) == (404, "CREDENTIAL_NOT_FOUND", [])


def test_anothers_key_is_not_there(me: Caller, stranger: Caller, server: ScriptedProvider) -> None:
    credential_id = add_key(me)
    before = whole_database()
    for answer in (
        stranger.get(f"{PATH}/{credential_id}"),
        stranger.put(f"{PATH}/{credential_id}", {"apiKey": OTHER_KEY}),
        stranger.delete(f"{PATH}/{credential_id}"),
        stranger.post(f"{PATH}/{credential_id}/test", {}),
    ):
        assert problem(answer) == (404, "CREDENTIAL_NOT_FOUND", [])
    assert stranger.get(PATH).json["items"] == []
    assert whole_database() == before
    assert server.calls == []


@pytest.mark.parametrize(
    ("more", "fields"),
    [
        ({"apiKey": None}, ["apiKey"]),
        ({"apiKey": "short"}, ["apiKey"]),
        ({"apiKey": "x" * 513}, ["apiKey"]),
        ({"apiKey": "with a space"}, ["apiKey"]),
        ({"apiKey": "line\r\nX-Other: 1"}, ["apiKey"]),
        ({"apiKey": "ключ-ключ-ключ"}, ["apiKey"]),
        ({"apiKey": 12345678}, ["apiKey"]),
        ({"apiKey": [KEY]}, ["apiKey"]),
        ({"label": ""}, ["label"]),
        ({"label": "x" * 101}, ["label"]),
        ({"label": f"my {KEY}"}, ["apiKey"]),
        ({"provider": ""}, ["provider"]),
        ({"provider": "unheard-of"}, ["baseUrl"]),
        ({"provider": None}, ["provider"]),
        ({"last4": "1234"}, ["last4"]),
        ({"userId": str(uuid4())}, ["userId"]),
    ],
)
def test_what_is_no_credential_is_refused_without_an_echo(
    me: Caller, more: dict[str, Any], fields: list[str]
) -> None:
    before = whole_database()
    answer = me.post(PATH, {"provider": "deepseek", "apiKey": KEY, **more})
    assert problem(answer) == (400, "INVALID_REQUEST", fields)
    assert KEY not in answer.text
    assert whole_database() == before


def test_without_a_master_key_nothing_is_sealed(
    database_url: str, redis_url: str, redis_client: redis.Redis
) -> None:
    with world(settings_for(database_url, redis_url, master_keys=None)) as bare:
        me = caller(bare, bare.user_id, redis_client)
        answer = me.post(PATH, {"provider": "deepseek", "apiKey": KEY})
        assert problem(answer) == (503, "PLATFORM_UNAVAILABLE", [])
        assert "MASTER" not in answer.text
        assert me.get(PATH).json["items"] == []


def test_a_key_that_another_master_key_sealed_cannot_be_tested(
    me: Caller, wired: World, redis_client: redis.Redis, server: ScriptedProvider
) -> None:
    credential_id = add_key(me)
    settings = wired.engine.settings
    other = "other:b3RoZXIga2V5IG9mIHRoaXJ0eS10d28gYnl0ZXMgMDE="
    with world(settings_for(settings.database_url, settings.redis_url, master_keys=other)) as made:
        answer = caller(made, wired.user_id, redis_client).post(f"{PATH}/{credential_id}/test", {})
    assert problem(answer) == (503, "PLATFORM_UNAVAILABLE", [])
    assert server.calls == []
