"""The values of the provider's wire."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aijobs.engine.chat import ChatRequest, Message, Reply, Route, TokenUsage

REQUEST = ChatRequest(
    messages=(Message("system", "Answer in json."), Message("user", "Zwölf Fragen")),
    max_tokens=800,
    temperature=0.5,
    thinking=False,
    schema_name="quiz_generation",
    snapshot={"items": []},
)
REPLY = Reply(
    text='{"questions": []}',
    finish_reason="stop",
    refusal=None,
    has_tool_calls=False,
    reasoning=True,
    response_model="m",
    usage=TokenUsage(input=10, cached=0, output=5, reasoning=None),
    http_status=200,
)

counts = st.none() | st.integers(min_value=0, max_value=2**40)
texts = st.none() | st.text(st.characters(codec=None))


def test_the_hash_is_the_sha_256_of_messages_schema_and_sampling() -> None:
    text = (
        '{"messages":[["system","Answer in json."],["user","Zw\\u00f6lf Fragen"]],'
        '"sampling":[800,0.5,false],"schema":"quiz_generation"}'
    )
    assert REQUEST.request_hash == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    "other",
    [
        replace(REQUEST, max_tokens=801),
        replace(REQUEST, temperature=0.6),
        replace(REQUEST, thinking=True),
        replace(REQUEST, schema_name="flashcard_generation"),
        replace(REQUEST, messages=REQUEST.messages[:1]),
        replace(REQUEST, messages=tuple(reversed(REQUEST.messages))),
    ],
)
def test_another_question_has_another_hash(other: ChatRequest) -> None:
    assert other.request_hash != REQUEST.request_hash


def test_the_snapshot_is_not_part_of_the_question() -> None:
    other = replace(REQUEST, snapshot={"items": [1]})
    assert other == REQUEST and other.request_hash == REQUEST.request_hash


def test_a_lone_surrogate_has_a_hash_too() -> None:
    assert replace(REQUEST, messages=(Message("user", "\ud800"),)).request_hash


def test_no_repr_shows_a_key_or_a_text() -> None:
    route = Route("deepseek", "m", "https://api.example", "sk-canary")
    shown = repr((route, REQUEST, REPLY))
    assert "sk-canary" not in shown and "json" not in shown and "questions" not in shown


def test_a_route_can_be_a_key_of_a_dictionary() -> None:
    assert {Route("p", "m", "u", "k", {"top_p": 1}): 1}


@given(texts, texts, st.booleans(), counts)
def test_a_journalled_reply_comes_back_as_it_was(
    text: str | None, reason: str | None, flag: bool, count: int | None
) -> None:
    usage = TokenUsage(count, None, count, 0) if flag else None
    reply = Reply(text, reason, None, flag, not flag, reason, usage, 200)
    journalled = reply.to_journal()
    assert journalled.isascii() and "\x00" not in journalled
    assert Reply.from_journal(journalled) == reply


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"usage": null}', '{"usage": {"a": 1}}'])
def test_anything_else_is_no_journalled_reply(text: str) -> None:
    with pytest.raises(ValueError):
        Reply.from_journal(text)
