"""What a call over a real wire brings back."""

from __future__ import annotations

import json

import pytest

from aijobs.engine.chat import TokenUsage
from aijobs.engine.gateway import OpenAIProvider
from tests.integration.engine.gateway.calls import KEY, REQUEST, a_cut, route_to
from tests.scripted_provider import ScriptedProvider

COUNTED = TokenUsage(input=120, cached=20, output=80, reasoning=None)


@pytest.mark.parametrize(
    ("knob", "options"),
    [
        ("ok", {}),
        ("ok_plain", {}),
        ("ok_stream", {}),
        ("slow", {"seconds": 0.05}),
        ("slow_stream", {"seconds": 0.08}),
        ("keep_alive_blank_lines", {"seconds": 0.1, "interval": 0.02}),
        ("keep_alive_comments", {"seconds": 0.1, "interval": 0.02}),
        ("content_parts", {}),
        ("gzipped", {}),
        ("gzipped", {"encoding": "deflate"}),
    ],
)
def test_a_whole_answer_comes_back_whole(
    server: ScriptedProvider, provider: OpenAIProvider, knob: str, options: dict[str, float]
) -> None:
    server.script(knob, **options)
    reply = provider.complete(route_to(server), REQUEST, a_cut())
    assert len(json.loads(reply.text or "")["questions"]) == 2
    assert (reply.finish_reason, reply.usage, reply.http_status) == ("stop", COUNTED, 200)
    assert reply.response_model == "model-asked"
    assert not (reply.reasoning or reply.has_tool_calls or reply.refusal)
    assert len(server.calls) == 1


def test_the_request_that_arrives(server: ScriptedProvider, provider: OpenAIProvider) -> None:
    provider.complete(route_to(server.base_url + "/v1/"), REQUEST, a_cut())
    (call,) = server.calls
    assert call.path == "/v1/chat/completions"
    assert call.headers["Authorization"] == f"Bearer {KEY}"
    assert call.body["stream"] is True and call.body["thinking"] == {"type": "disabled"}


@pytest.mark.parametrize(
    ("knob", "counted"),
    [
        ("usage_missing", None),
        ("usage_null", None),
        ("usage_negative", None),
        ("usage_huge", None),
        ("usage_zero", TokenUsage(0, None, 0, None)),
    ],
)
def test_strange_counts_do_not_cost_the_answer(
    server: ScriptedProvider, provider: OpenAIProvider, knob: str, counted: TokenUsage | None
) -> None:
    server.script(knob)
    reply = provider.complete(route_to(server), REQUEST, a_cut())
    assert reply.text and reply.usage == counted


@pytest.mark.parametrize("reason", ["stop", "length", "tool_calls", "something_new"])
def test_the_finish_reason_comes_back(
    server: ScriptedProvider, provider: OpenAIProvider, reason: str
) -> None:
    server.script("finish_reason", finish_reason=reason)
    assert provider.complete(route_to(server), REQUEST, a_cut()).finish_reason == reason


def test_answers_that_are_for_the_reader_to_judge(
    server: ScriptedProvider, provider: OpenAIProvider
) -> None:
    server.enqueue("spaces_content")
    server.enqueue("content_null_reasoning")
    server.enqueue("finish_reason_missing")
    server.enqueue("other_model")
    route = route_to(server)
    blank, thought, unfinished, other = (
        provider.complete(route, REQUEST, a_cut()) for _ in range(4)
    )
    assert blank.text == "   " and blank.finish_reason == "stop"
    assert (thought.text, thought.reasoning, thought.finish_reason) == (None, True, "length")
    assert unfinished.text and unfinished.finish_reason is None
    assert other.response_model == "another-model"


def test_calls_one_after_another_share_a_connection(
    server: ScriptedProvider, provider: OpenAIProvider
) -> None:
    for knob in ("ok_stream", "ok_plain", "500", "ok"):
        server.enqueue(knob)
    route = route_to(server)
    provider.complete(route, REQUEST, a_cut())
    provider.complete(route, REQUEST, a_cut())
    with pytest.raises(Exception, match="PROVIDER_UNAVAILABLE"):
        provider.complete(route, REQUEST, a_cut())
    provider.complete(route, REQUEST, a_cut())
    assert len({call.client_port for call in server.calls}) == 1


def test_an_answer_that_is_delivered_twice_answers_one_question(
    server: ScriptedProvider, provider: OpenAIProvider
) -> None:
    server.unique_answers = True
    server.enqueue("ok_twice")
    route = route_to(server)
    first = provider.complete(route, REQUEST, a_cut())
    with pytest.raises(Exception, match="PROVIDER_TIMEOUT"):
        provider.complete(route, REQUEST, a_cut())
    third = provider.complete(route, REQUEST, a_cut())
    assert first.text != third.text


def test_a_call_over_tls(tls_server: ScriptedProvider, tls_provider: OpenAIProvider) -> None:
    route = route_to(tls_server)
    for _ in range(2):
        assert tls_provider.complete(route, REQUEST, a_cut()).usage == COUNTED
    assert len({call.client_port for call in tls_server.calls}) == 1
