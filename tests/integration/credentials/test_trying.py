"""POST /model-credentials/{id}/test: one small call; what it says is noted at the version tried."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import redis

from aijobs.engine.chat import ChatRequest, Reply, Route
from aijobs.engine.cut import Cut
from aijobs.engine.errors import ProviderFault
from tests.integration.credentials.detour import (
    KEY,
    Detour,
    add_key,
    detoured,
    keys_received,
    row_of,
)
from tests.integration.http.caller import Caller, caller, problem
from tests.scripted_provider import ScriptedProvider
from tests.world import World, settings_for, world

PATH = "/model-credentials"


def _try(who: Caller, credential_id: object) -> Any:
    answer = who.post(f"{PATH}/{credential_id}/test", {})
    assert answer.status_code == 200, answer.text
    return answer.json


def test_a_key_that_is_taken_is_verified_by_one_small_call(
    me: Caller, server: ScriptedProvider, detour: Detour
) -> None:
    credential_id = add_key(me)
    assert _try(me, credential_id) == {"ok": True}
    assert keys_received(server) == [KEY]
    [route] = detour.routes
    assert (route.base_url, route.public_only) == ("https://api.deepseek.com", True)
    [call] = server.calls
    assert (call.body["model"], call.body["max_tokens"]) == ("deepseek-flash", 16)
    row = row_of(credential_id)
    assert (row.status, row.version) == ("active", 1)
    assert row.last_verified_at is not None
    assert me.get(f"{PATH}/{credential_id}").json["lastVerifiedAt"].endswith("Z")


def test_what_a_host_does_not_know_is_not_sent_there(me: Caller, server: ScriptedProvider) -> None:
    _try(me, add_key(me, provider="openai"))
    _try(me, add_key(me, provider="openrouter"))
    openai, openrouter = (call.body for call in server.calls)
    assert (openai["model"], "thinking" in openai) == ("gpt-4.1-mini", False)
    assert (openrouter["reasoning"], "thinking" in openrouter) == ({"enabled": False}, False)


@pytest.mark.parametrize("status", ["401", "403"])
def test_a_key_that_is_refused_is_invalid_until_it_is_taken(
    me: Caller, server: ScriptedProvider, status: str
) -> None:
    credential_id = add_key(me)
    server.script(status)
    assert _try(me, credential_id) == {"ok": False, "code": "CREDENTIAL_INVALID"}
    assert row_of(credential_id).status == "invalid"
    server.script("ok")
    assert _try(me, credential_id) == {"ok": True}
    assert row_of(credential_id).status == "active"


@pytest.mark.parametrize(
    ("knob", "code"),
    [
        ("402", "PROVIDER_ACCOUNT"),
        ("404_html", "PROVIDER_ACCOUNT"),
        ("bad_model_400", "PROVIDER_ACCOUNT"),
        ("400", "PROVIDER_BAD_REQUEST"),
        ("429", "PROVIDER_RATE_LIMITED"),
        ("503", "PROVIDER_UNAVAILABLE"),
        ("html_200", "PROVIDER_UNAVAILABLE"),
        ("accept_then_reset", "PROVIDER_TIMEOUT"),
    ],
)
def test_what_says_nothing_of_the_key_leaves_it_as_it_is(
    me: Caller, server: ScriptedProvider, knob: str, code: str
) -> None:
    credential_id = add_key(me)
    server.script(knob)
    assert _try(me, credential_id) == {"ok": False, "code": code}
    row = row_of(credential_id)
    assert (row.status, row.last_verified_at) == ("active", None)


def test_a_redirect_is_not_followed_with_a_key(me: Caller, server: ScriptedProvider) -> None:
    credential_id = add_key(me)
    with ScriptedProvider() as elsewhere:
        server.script("redirect_302", location=f"{elsewhere.base_url}/chat/completions")
        assert _try(me, credential_id) == {"ok": False, "code": "PROVIDER_ACCOUNT"}
        assert elsewhere.calls == []
    assert len(server.calls) == 1


def test_an_answer_that_takes_too_long_is_cut(
    me: Caller, server: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aijobs.engine.own_keys._TEST_SECONDS", 0.2)
    credential_id = add_key(me)
    server.script("silence")
    assert _try(me, credential_id) == {"ok": False, "code": "PROVIDER_TIMEOUT"}
    assert row_of(credential_id).status == "active"


@pytest.mark.parametrize("refuses", [True, False])
def test_what_is_said_of_an_old_key_does_not_touch_the_new_one(
    me: Caller, here: World, detour: Detour, redis_client: redis.Redis, refuses: bool
) -> None:
    """The key is changed while the test of the old one is under way."""

    class Changing:
        def complete(self, route: Route, request: ChatRequest, cut: Cut) -> Reply:
            me.put(f"{PATH}/{credential_id}", {"apiKey": "the-new-key-0001"})
            if refuses:
                raise ProviderFault("CREDENTIAL_INVALID", http_status=401)
            return detour.complete(route, request, cut)

    credential_id = add_key(me)
    _try(caller(detoured(here, Changing()), here.user_id, redis_client), credential_id)
    row = row_of(credential_id)
    assert (row.version, row.status, row.last_verified_at) == (2, "active", None)


def test_keys_under_test_hold_a_quarter_of_the_threads_at_most(
    database_url: str, redis_url: str, redis_client: redis.Redis
) -> None:
    entered, may_go = threading.Event(), threading.Event()

    class Waiting:
        def complete(self, route: Route, request: ChatRequest, cut: Cut) -> Reply:
            entered.set()
            assert may_go.wait(30)
            raise ProviderFault("PROVIDER_UNAVAILABLE", http_status=503)

    settings = settings_for(database_url, redis_url, api_threads=7)
    with world(settings) as made, ThreadPoolExecutor(1) as pool:
        me = caller(detoured(made, Waiting()), made.user_id, redis_client)
        credential_id = add_key(me)
        first = pool.submit(_try, me, credential_id)
        assert entered.wait(30)
        refused = me.post(f"{PATH}/{credential_id}/test", {})
        may_go.set()
        assert problem(refused) == (429, "RATE_LIMITED", [])
        assert refused.headers["Retry-After"] == "2"
        assert first.result(30) == {"ok": False, "code": "PROVIDER_UNAVAILABLE"}
        assert _try(me, credential_id) == {"ok": False, "code": "PROVIDER_UNAVAILABLE"}
