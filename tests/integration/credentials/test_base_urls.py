"""Where a key may go: https, a listed host, and nothing that two readers of URLs could dispute."""

from __future__ import annotations

import pytest
import redis

from aijobs.engine.gateway import OpenAIProvider
from tests.integration.credentials.detour import KEY, add_key, detoured, row_of
from tests.integration.http.caller import Caller, caller, problem
from tests.scripted_provider import ScriptedProvider
from tests.unit.engine.base_urls import REFUSED
from tests.world import settings_for, whole_database, world

PATH = "/model-credentials"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://api.deepseek.com", "https://api.deepseek.com"),
        ("https://api.deepseek.com/", "https://api.deepseek.com"),
        ("https://api.deepseek.com:443/v1/", "https://api.deepseek.com/v1"),
        ("HTTPS://API.OpenAI.com/v1", "https://api.openai.com/v1"),
        ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1"),
    ],
)
def test_a_listed_host_is_kept_in_its_one_spelling(me: Caller, given: str, kept: str) -> None:
    assert row_of(add_key(me, baseUrl=given)).base_url == kept


def test_anywhere_else_is_refused_before_anything_is_asked(
    me: Caller, server: ScriptedProvider
) -> None:
    credential_id = add_key(me)
    before = whole_database()
    for base_url in REFUSED:
        body = {"provider": "deepseek", "baseUrl": base_url, "apiKey": KEY}
        made, changed = me.post(PATH, body), me.put(f"{PATH}/{credential_id}", body)
        for answer in (made, changed):
            assert problem(answer) == (400, "INVALID_REQUEST", ["baseUrl"]), base_url
            assert answer.json["errors"][0]["message"].startswith("must be ")
            assert KEY not in answer.text
    assert whole_database() == before
    assert server.calls == []


def test_a_listed_name_that_leads_to_a_private_address_is_not_called(
    database_url: str, redis_url: str, redis_client: redis.Redis
) -> None:
    """`localhost` resolves to loopback, as a name under an attacker's control may do any day."""
    listed = settings_for(database_url, redis_url, credential_hosts=("localhost",))
    with world(listed) as here, ScriptedProvider() as unused:
        me = caller(detoured(here, OpenAIProvider(5.0)), here.user_id, redis_client)
        credential_id = add_key(me, baseUrl="https://localhost")
        answer = me.post(f"{PATH}/{credential_id}/test", {})
        assert answer.json == {"ok": False, "code": "PROVIDER_ACCOUNT"}
        assert unused.calls == []
        assert row_of(credential_id).status == "active"


def test_a_host_that_is_not_listed_any_more_is_not_called(
    me: Caller,
    database_url: str,
    redis_url: str,
    redis_client: redis.Redis,
    server: ScriptedProvider,
) -> None:
    credential_id = add_key(me, baseUrl="https://openrouter.ai/api/v1")
    listed = settings_for(database_url, redis_url, credential_hosts=("api.deepseek.com",))
    owner = row_of(credential_id).user_id
    with world(listed) as here:
        answer = caller(here, owner, redis_client).post(f"{PATH}/{credential_id}/test", {})
    assert answer.json == {"ok": False, "code": "PROVIDER_ACCOUNT"}
    assert server.calls == []
