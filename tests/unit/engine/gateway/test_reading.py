"""From the body of a 2xx response to a Reply or a fault."""

from __future__ import annotations

import gzip
import json
import time
import zlib
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aijobs.engine.chat import Reply, TokenUsage
from aijobs.engine.cut import Cut
from aijobs.engine.errors import ProviderFault
from aijobs.engine.gateway.body import MAX_BODY_BYTES
from aijobs.engine.gateway.call import Call
from aijobs.engine.gateway.faults import AnsweredFault
from aijobs.engine.gateway.reading import read_reply
from tests.unit.engine.gateway.responses import ROUTE, Pieces, chunk, document, read, read_from

USAGE = {"prompt_tokens": 7, "completion_tokens": 3}
COUNTED = TokenUsage(input=7, cached=None, output=3, reasoning=None)
DONE = b"data: [DONE]\n\n"
WHOLE = (
    b": keep-alive\n\n",
    chunk({"role": "assistant", "content": ""}),
    chunk({"content": '{"a": '}),
    b": keep-alive\r\n\r\n",
    chunk({"content": "1}"}),
    chunk({"content": ""}, "stop", usage=USAGE),
    DONE,
)
REPLY = Reply('{"a": 1}', "stop", None, False, False, "m", COUNTED, 200)


def fault(*pieces: bytes, **options: Any) -> AnsweredFault:
    with pytest.raises(AnsweredFault) as raised:
        read(*pieces, **options)
    return raised.value


def test_a_stream_with_the_usage_on_its_last_content_chunk() -> None:
    assert read(*WHOLE) == REPLY


def test_a_stream_with_the_usage_in_a_chunk_of_its_own() -> None:
    usage = b'data: {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}\n\n'
    assert read(chunk({"content": '{"a": 1}'}), chunk({}, "stop", usage=None), usage, DONE) == REPLY


def test_a_count_that_grows_from_chunk_to_chunk_ends_with_the_last() -> None:
    first = chunk({"content": '{"a": 1}'}, usage={"prompt_tokens": 7, "completion_tokens": 1})
    assert read(first, chunk({}, "stop", usage=USAGE), DONE) == REPLY


def test_one_document_after_blank_lines() -> None:
    body = document({"content": '{"a": 1}'}, usage=USAGE)
    assert read(b"\n\n", b" \r\n", body[:20], body[20:] + b"\n") == REPLY


@given(st.lists(st.integers(0, len(b"".join(WHOLE))), max_size=30))
def test_the_borders_of_network_reads_do_not_matter(cuts: list[int]) -> None:
    body = b"".join(WHOLE)
    borders = [0, *sorted(cuts), len(body)]
    assert read(*(body[a:b] for a, b in pairwise(borders))) == REPLY


def test_events_without_blank_lines_between_them() -> None:
    assert read(b"".join(WHOLE).replace(b"\n\n", b"\n")) == REPLY


def test_one_event_over_several_data_lines() -> None:
    event = b'data: {"choices":\ndata: [{"delta": {"content": "x"}, "finish_reason": "stop"}]}\n\n'
    assert read(event, DONE).text == "x"


def test_whole_messages_in_a_stream() -> None:
    event = b"data: " + document({"content": "x"}) + b"\n\n"
    assert read(event, DONE).text == "x"


def test_only_the_first_choice_counts() -> None:
    other = b'data: {"choices": [{"index": 1, "delta": {"content": "no"}}]}\n\n'
    assert read(chunk({"content": "x"}), other, chunk({}, "stop"), DONE).text == "x"


def test_a_byte_order_mark_and_a_missing_done() -> None:
    assert read(b"\xef\xbb\xbf" + chunk({"content": "x"}, "stop")).text == "x"


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        ["a", "b"],
        [{"type": "thinking", "thinking": "hm"}, {"text": "ab"}],
        "ab",
    ],
)
def test_content_as_text_or_as_parts(content: Any) -> None:
    assert read(document({"content": content})).text == "ab"


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_thinking_is_noted_and_is_no_text(name: str) -> None:
    reply = read(document({"content": None, name: '{"a": 1}'}, "length"))
    assert (reply.text, reply.reasoning, reply.finish_reason) == (None, True, "length")


def test_blanks_as_content_are_a_reply() -> None:
    assert read(document({"content": "   "})).text == "   "


def test_tool_calls_are_noted() -> None:
    reply = read(document({"content": None, "tool_calls": [{"id": "c"}]}, "tool_calls"))
    assert reply.has_tool_calls and reply.text is None and reply.finish_reason == "tool_calls"


@pytest.mark.parametrize("reason", ["stop", "length", "tool_calls", "something_new"])
def test_a_finish_reason_is_handed_on(reason: str) -> None:
    assert read(document({"content": "x"}, reason)).finish_reason == reason


def test_a_finish_reason_may_be_missing_where_the_end_is_clear() -> None:
    assert read(document({"content": "x"}, None)).finish_reason is None
    assert read(chunk({"content": "x"}), DONE).finish_reason is None


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("insufficient_system_resource", "PROVIDER_UNAVAILABLE"),
        ("aborted", "PROVIDER_UNAVAILABLE"),
        ("content_filter", "CONTENT_SAFETY_BLOCKED"),
    ],
)
def test_a_finish_reason_that_is_a_fault_of_the_provider(reason: str, code: str) -> None:
    body = document({"content": "x"}, reason, usage=USAGE)
    assert (fault(body).code, fault(body).usage, fault(body).http_status) == (code, COUNTED, 200)
    assert fault(chunk({"content": "x"}, reason, usage=USAGE), DONE).code == code


@pytest.mark.parametrize("field", ["native_finish_reason", "provider_specific_fields"])
def test_a_router_does_not_hide_the_true_reason(field: str) -> None:
    native: Any = "insufficient_system_resource"
    value = native if field == "native_finish_reason" else {"native_finish_reason": native}
    choice = {"message": {"content": "x"}, "finish_reason": "stop", field: value}
    assert fault(json.dumps({"choices": [choice]}).encode()).code == "PROVIDER_UNAVAILABLE"


@pytest.mark.parametrize(
    "message",
    [
        {"content": None, "refusal": "I cannot help."},
        {"content": [{"type": "refusal", "refusal": "I cannot help."}]},
    ],
)
def test_a_refusal_is_blocked_content_that_cost_tokens(message: dict[str, Any]) -> None:
    refused = fault(document(message, usage=USAGE))
    assert (refused.code, refused.usage) == ("CONTENT_SAFETY_BLOCKED", COUNTED)


def test_an_empty_refusal_is_none() -> None:
    assert read(document({"content": "x", "refusal": ""})).refusal is None


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"message": "x", "code": "rate_limit_daily"}, "PROVIDER_RATE_LIMITED"),
        ({"message": "x", "code": 429}, "PROVIDER_RATE_LIMITED"),
        ({"message": "x", "code": "401"}, "CREDENTIAL_INVALID"),
        ({"message": "x", "code": 402}, "PROVIDER_ACCOUNT"),
        ({"message": "x", "type": "insufficient_quota"}, "PROVIDER_ACCOUNT"),
        ({"message": "Content Exists Risk", "code": 400}, "CONTENT_SAFETY_BLOCKED"),
        ({"message": "x", "code": 502}, "PROVIDER_UNAVAILABLE"),
        ({"message": "x", "code": None}, "PROVIDER_UNAVAILABLE"),
        ({"message": "x", "code": 200}, "PROVIDER_UNAVAILABLE"),
        ("something", "PROVIDER_UNAVAILABLE"),
    ],
)
def test_an_error_with_status_200_goes_by_its_own_code(error: Any, code: str) -> None:
    assert fault(json.dumps({"error": error}).encode()).code == code
    event = b"data: " + json.dumps({"error": error}).encode() + b"\n\n"
    assert fault(chunk({"content": "half"}), event, DONE).code == code


def test_an_error_in_a_choice_or_named_by_the_event_counts() -> None:
    choice = {"message": {"content": "x"}, "error": {"code": 429}}
    assert fault(json.dumps({"choices": [choice]}).encode()).code == "PROVIDER_RATE_LIMITED"
    assert fault(b'event: error\ndata: "overloaded"\n\n').code == "PROVIDER_UNAVAILABLE"


def test_an_error_that_is_null_is_none() -> None:
    assert read(document({"content": "x"}, error=None)).text == "x"


@pytest.mark.parametrize(
    "body",
    [
        b'{"choices": []}',
        b'{"choices": null}',
        b'{"choices": {"0": 1}}',
        b"{}",
        b"[]",
        b'{"object": "error", "message": "x", "code": 5}',
        b'{"choices": [{"message": {"content": NaN}}]}',
        b'{"choices": [{"message": {"content": {"a": 1}}}]}',
        b'{"choices": [{"message": {"content": 5}}]}',
        b'{"choices": [' + b"[" * 100_000,
        b'{"choices": [' + b"9" * 5_000 + b"]}",
        b'{"choices": "\xff"}',
        b'{"choices": [}',
        b"<html></html>",
        b"upstream connect error",
        b"true",
        b"data: {]\n\n",
        b"data: 5\n\n",
        DONE,
    ],
)
def test_what_is_no_answer_is_an_unavailable_provider(body: bytes) -> None:
    assert fault(body).code == "PROVIDER_UNAVAILABLE"


def test_a_page_is_no_answer_whatever_it_holds() -> None:
    page = {"content-type": "text/html; charset=utf-8"}
    assert fault(document({"content": "x"}), headers=page).code == "PROVIDER_UNAVAILABLE"


@pytest.mark.parametrize("body", [b"", b"\n\n \r\n", b": keep-alive\n\n", b"data: \n\n"])
def test_a_blank_body_is_a_time_out(body: bytes) -> None:
    assert fault(body).code == "PROVIDER_TIMEOUT"


@pytest.mark.parametrize(
    "pieces",
    [WHOLE[:3], (*WHOLE[:3], b'data: {"choices": [{"del'), (*WHOLE[:2], b": keep-alive\n\n")],
)
def test_a_stream_that_ends_before_the_answer_does_is_a_time_out(pieces: tuple[bytes, ...]) -> None:
    assert fault(*pieces).code == "PROVIDER_TIMEOUT"


def test_half_a_document_in_a_body_without_a_length_is_a_time_out() -> None:
    body = document({"content": "x"})
    assert fault(body[:30], headers={}).code == "PROVIDER_TIMEOUT"
    assert read(body, headers={}).text == "x"


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [("gzip", gzip.compress), ("x-gzip", gzip.compress), ("deflate", zlib.compress)],
)
def test_a_compressed_body(encoding: str, pack: Callable[[bytes], bytes]) -> None:
    packed = pack(document({"content": "x" * 200_000}))
    headers = {"content-encoding": encoding}
    assert read(packed[:5], packed[5:], headers=headers).text == "x" * 200_000
    with pytest.raises(OSError):
        read(packed[:-20], headers=headers)


@pytest.mark.parametrize("encoding", ["gzip", "br", "gzip, gzip"])
def test_a_body_that_is_not_encoded_as_asked_is_an_unavailable_provider(encoding: str) -> None:
    body = document({"content": "x"})
    assert fault(body, headers={"content-encoding": encoding}).code == "PROVIDER_UNAVAILABLE"


def test_a_body_of_4_mb_is_read_and_a_larger_one_is_not() -> None:
    body = document({"content": "x"})
    assert read(body.ljust(MAX_BODY_BYTES)).text == "x"
    assert fault(body.ljust(MAX_BODY_BYTES), b" ").code == "PROVIDER_UNAVAILABLE"
    assert fault(*[b": keep-alive\n\n" * 1000] * 400).code == "PROVIDER_UNAVAILABLE"


def test_an_answer_that_is_there_survives_a_connection_that_ends_after_it() -> None:
    def pieces() -> Iterator[bytes]:
        yield chunk({"content": "x"}, "stop", usage=USAGE)
        raise ConnectionResetError

    reply = read_from(pieces())
    assert (reply.text, reply.usage) == ("x", COUNTED)


def test_after_the_finish_reason_nothing_is_waited_for_long() -> None:
    call = Call(Cut(time.monotonic() + 60))
    pieces = Pieces([chunk({"content": "x"}, "stop")])
    response = httpx.Response(200, headers={"transfer-encoding": "chunked"}, stream=pieces)
    assert read_reply(response, ROUTE, call).text == "x"
    assert call.seconds() <= 2


NAMES = (
    "choices message delta content error code type usage finish_reason model index text refusal "
    "prompt_tokens completion_tokens prompt_tokens_details tool_calls detail"
)
names = st.sampled_from(NAMES.split())
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(names, json_values, max_size=6), st.booleans())
def test_whatever_json_comes_the_outcome_is_a_reply_or_a_fault(value: Any, streamed: bool) -> None:
    body = json.dumps(value).encode()
    try:
        reply = read(b"data: " + body + b"\n\n" + DONE if streamed else body)
    except ProviderFault:
        return
    assert Reply.from_journal(reply.to_journal()) == reply


@given(st.binary(max_size=60), st.sampled_from([b"", b"{", b"data: ", b"data: {"]))
def test_whatever_bytes_come_the_outcome_is_a_fault(body: bytes, beginning: bytes) -> None:
    with pytest.raises(ProviderFault):
        read(beginning + body)
