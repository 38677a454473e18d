"""A chat request as an HTTP request."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from aijobs.engine.chat import ChatRequest, Message
from aijobs.engine.errors import ProviderFault
from aijobs.engine.gateway.outgoing import chat_body, outgoing
from tests.unit.engine.gateway.responses import ROUTE

REQUEST = ChatRequest(
    messages=(Message("system", "json"), Message("user", "Über Wärme 热")),
    max_tokens=800,
    temperature=0.5,
    thinking=False,
    schema_name="quiz_generation",
    snapshot={"items": ["not for the wire"]},
)
BODY = {
    "model": "asked-model",
    "messages": [
        {"role": "system", "content": "json"},
        {"role": "user", "content": "Über Wärme 热"},
    ],
    "max_tokens": 800,
    "temperature": 0.5,
    "thinking": {"type": "disabled"},
    "response_format": {"type": "json_object"},
    "stream": True,
    "stream_options": {"include_usage": True},
}


def test_the_body_says_everything_and_nothing_of_the_snapshot() -> None:
    assert json.loads(outgoing(ROUTE, REQUEST).content) == BODY


def test_thinking_is_asked_for_by_name() -> None:
    assert chat_body(ROUTE, replace(REQUEST, thinking=True))["thinking"] == {"type": "enabled"}


def test_the_route_adds_replaces_and_takes_out_fields() -> None:
    route = replace(ROUTE, extra_body={"top_p": 0.9, "temperature": 0.1, "thinking": None})
    expected = {**BODY, "top_p": 0.9, "temperature": 0.1}
    del expected["thinking"]
    assert chat_body(route, REQUEST) == expected


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("https://api.deepseek.com", "https://api.deepseek.com/chat/completions"),
        ("https://api.deepseek.com/", "https://api.deepseek.com/chat/completions"),
        ("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
        ("http://127.0.0.1:11434/v1/", "http://127.0.0.1:11434/v1/chat/completions"),
    ],
)
def test_the_url_is_the_base_with_the_endpoint(base_url: str, url: str) -> None:
    request = outgoing(replace(ROUTE, base_url=base_url), REQUEST)
    assert (request.method, str(request.url)) == ("POST", url)


@pytest.mark.parametrize(
    "base_url",
    [
        "",
        "api.deepseek.com",
        "ftp://host",
        "https://",
        "https://me:pw@host",
        "http://[::1",
        "http://\x00",
    ],
)
def test_an_unusable_base_url_is_the_account(base_url: str) -> None:
    with pytest.raises(ProviderFault) as raised:
        outgoing(replace(ROUTE, base_url=base_url), REQUEST)
    assert raised.value.code == "PROVIDER_ACCOUNT"


def test_the_key_is_in_its_header_alone() -> None:
    request = outgoing(ROUTE, REQUEST)
    assert request.headers["authorization"] == f"Bearer {ROUTE.api_key}"
    assert ROUTE.api_key not in repr(request.headers) + repr(request) + str(request.url)
    assert request.headers["accept-encoding"] == "identity"


def test_a_server_without_keys_gets_no_authorization() -> None:
    assert "authorization" not in outgoing(replace(ROUTE, api_key=""), REQUEST).headers


@pytest.mark.parametrize("key", ["sk-two\nlines", "sk-ключ", "sk with blank", "sk-\x00"])
def test_a_key_that_no_header_carries_is_invalid_and_stays_secret(key: str) -> None:
    with pytest.raises(ProviderFault) as raised:
        outgoing(replace(ROUTE, api_key=key), REQUEST)
    assert raised.value.code == "CREDENTIAL_INVALID"
    assert key not in str(raised.value) and raised.value.__context__ is None


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), "\ud800"])
def test_what_json_cannot_say_is_a_bad_request(value: Any) -> None:
    with pytest.raises(ProviderFault) as raised:
        outgoing(replace(ROUTE, extra_body={"x": value}), REQUEST)
    assert raised.value.code == "PROVIDER_BAD_REQUEST"
