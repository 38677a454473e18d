"""Answers about keys are as the document tells."""

from __future__ import annotations

from tests.integration.credentials.detour import KEY, add_key
from tests.integration.http.caller import Caller
from tests.integration.http.documented import Documented
from tests.scripted_provider import ScriptedProvider

PATH = "/model-credentials"


def test_keys_are_answered_as_documented(me: Caller, server: ScriptedProvider) -> None:
    api = Documented(me)
    made = api.post(PATH, {"label": "Mine", "provider": "deepseek", "apiKey": KEY})
    one = f"{PATH}/{made.json['id']}"
    assert api.get(one).status_code == 200
    assert api.put(one, {"label": "Still mine"}).json["label"] == "Still mine"
    assert api.post(f"{one}/test").json == {"ok": True}
    assert "lastVerifiedAt" in api.get(PATH).json["items"][0]
    assert api.delete(one).status_code == 204
    assert api.get(one).json["code"] == "CREDENTIAL_NOT_FOUND"
    assert api.post(PATH, {"provider": "deepseek", "apiKey": "short"}).status_code == 400


def test_a_key_that_is_refused_is_answered_as_documented(
    me: Caller, server: ScriptedProvider
) -> None:
    api = Documented(me)
    one = f"{PATH}/{add_key(me)}"
    server.script("401")
    assert api.post(f"{one}/test").json == {"ok": False, "code": "CREDENTIAL_INVALID"}
    assert api.get(one).json["status"] == "invalid"
