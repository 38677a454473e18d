"""The ways of a provider to answer, one knob each (facts: what to script in a fake provider).

Invariant: a knob is a function of one exchange; its options are keyword arguments.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

from tests.scripted_provider.exchange import Exchange

Behaviour = Callable[[Exchange], None]

USAGE: Mapping[str, Any] = {
    "prompt_tokens": 120,
    "completion_tokens": 80,
    "total_tokens": 200,
    "prompt_tokens_details": {"cached_tokens": 20},
    "prompt_cache_hit_tokens": 20,
    "prompt_cache_miss_tokens": 100,
}
#: Leaves a field out, where None stands for null.
ABSENT: Any = object()

_PIECES = 8
_BOMB_BYTES = 100 * 1024 * 1024
_PAGE = "<html><head><title>{0}</title></head><body><h1>{0}</h1></body></html>"


def behaviour(name_or_function: str | Behaviour, **options: Any) -> Behaviour:
    """A knob by its name, with options; or a function as it is."""
    if isinstance(name_or_function, str):
        return partial(KNOBS[name_or_function], **options)
    return name_or_function


def ok(exchange: Exchange, **options: Any) -> None:
    """As asked: a stream for `stream: true`, else one document."""
    knob = ok_stream if exchange.body.get("stream") else ok_plain
    knob(exchange, **options)


def ok_plain(exchange: Exchange, **options: Any) -> None:
    """One document, whatever was asked."""
    exchange.respond(200, completion(exchange, **options))


def ok_stream(exchange: Exchange, **options: Any) -> None:
    """A stream, whatever was asked."""
    exchange.begin()
    for event in events(exchange, **options):
        exchange.event(event)
    exchange.event("[DONE]")
    exchange.end()


def ok_twice(exchange: Exchange) -> None:
    """The same answer is delivered a second time, unasked, on the same connection."""
    data = json.dumps(completion(exchange))
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    )
    exchange.send((head + data).encode() * 2)


def slow(exchange: Exchange, seconds: float = 1.0, **options: Any) -> None:
    """Silence, then ok."""
    exchange.pause(seconds)
    ok(exchange, **options)


def slow_stream(exchange: Exchange, seconds: float = 1.0) -> None:
    """A stream whose pieces come over `seconds`."""
    exchange.begin()
    for event in events(exchange):
        exchange.event(event)
        exchange.pause(seconds / _PIECES)
    exchange.event("[DONE]")
    exchange.end()


def silence(exchange: Exchange) -> None:
    """Not even a status line."""
    exchange.hold()


def keep_alive_blank_lines(
    exchange: Exchange, seconds: float | None = None, interval: float = 0.05
) -> None:
    """Blank lines for `seconds` and then a document; without `seconds` until the client closes."""
    exchange.begin(content_type="application/json")
    _keep_alive(exchange, b"\n", seconds, interval)
    exchange.chunk(json.dumps(completion(exchange)))
    exchange.end()


def keep_alive_comments(
    exchange: Exchange, seconds: float | None = None, interval: float = 0.05
) -> None:
    """Comments for `seconds` and then a stream; without `seconds` until the client closes."""
    exchange.begin()
    _keep_alive(exchange, b": keep-alive\n\n", seconds, interval)
    for event in events(exchange):
        exchange.event(event)
    exchange.event("[DONE]")
    exchange.end()


def headers_then_silence(exchange: Exchange, status: int = 200) -> None:
    """A head, and no byte of the body."""
    exchange.begin(status)
    exchange.hold()


def accept_then_reset(exchange: Exchange) -> None:
    """The request is read, then the connection is reset."""
    exchange.reset()


def accept_then_close(exchange: Exchange) -> None:
    """The request is read, then the connection is closed in order."""
    exchange.hang_up()


def half_body_content_length(exchange: Exchange) -> None:
    """Half of what Content-Length promised, then the end."""
    data = json.dumps(completion(exchange)).encode()
    length = {"Content-Length": str(2 * len(data))}
    exchange.respond(200, data, headers=length)
    exchange.hang_up()


def half_body_chunked(exchange: Exchange) -> None:
    """A document without its end and without the last chunk."""
    data = json.dumps(completion(exchange))
    exchange.begin(content_type="application/json")
    exchange.chunk(data[: len(data) // 2])
    exchange.hang_up()


def half_body_unframed(exchange: Exchange) -> None:
    """A document without its end, in a body that ends with the connection."""
    data = json.dumps(completion(exchange))
    exchange.begin_unframed()
    exchange.send(data[: len(data) // 2].encode())


def mid_stream_silence(exchange: Exchange, pieces: int = 2) -> None:
    """Some events, then nothing."""
    _some_events(exchange, pieces)
    exchange.hold()


def mid_stream_cut(exchange: Exchange, pieces: int = 2) -> None:
    """Some events, then the connection ends without the last chunk."""
    _some_events(exchange, pieces)
    exchange.hang_up()


def stream_without_end(exchange: Exchange, pieces: int = 2) -> None:
    """Some events, then an orderly end of the body without finish_reason and [DONE]."""
    _some_events(exchange, pieces)
    exchange.end()


def mid_stream_error(exchange: Exchange, code: Any = "server_error", pieces: int = 2) -> None:
    """Some events, then an error object."""
    _some_events(exchange, pieces)
    exchange.event({"error": {"message": "upstream failed", "type": "error", "code": code}})
    exchange.event("[DONE]")
    exchange.end()


def text(exchange: Exchange, body: str, status: int = 200, **options: Any) -> None:
    """Any body at all."""
    exchange.respond(status, body, **options)


def status(
    exchange: Exchange,
    status: int,
    message: str = "scripted",
    code: Any = "scripted_error",
    error_type: str = "scripted_error",
    retry_after: Any = None,
) -> None:
    """An error status with an error object."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    error = {"message": message, "type": error_type, "param": None, "code": code}
    exchange.respond(status, {"error": error}, headers=headers)


def page(exchange: Exchange, status: int, size: int = 0, seconds: float = 0.0) -> None:
    """A page of a gateway, filled up to `size` bytes, after `seconds`."""
    exchange.pause(seconds)
    body = _PAGE.format(f"{status} from a gateway").ljust(size)
    exchange.respond(status, body, content_type="text/html")


def redirect(exchange: Exchange, status: int = 302, location: str = "http://127.0.0.1:9/x") -> None:
    """To another host."""
    exchange.respond(status, b"", headers={"Location": location})


def gzip_bomb(exchange: Exchange) -> None:
    """100 MB of blanks in a document, compressed."""
    exchange.respond(200, _bomb(), headers={"Content-Encoding": "gzip"})


def gzipped(exchange: Exchange, encoding: str = "gzip", keep: float = 1.0) -> None:
    """A compressed document, or the first part of it."""
    wbits = zlib.MAX_WBITS | 16 if encoding == "gzip" else zlib.MAX_WBITS
    packer = zlib.compressobj(wbits=wbits)
    data = packer.compress(json.dumps(completion(exchange)).encode()) + packer.flush()
    data = data[: int(len(data) * keep)]
    exchange.respond(200, data, headers={"Content-Encoding": encoding})


def content_parts(exchange: Exchange) -> None:
    """The content as a list of parts."""
    answer = exchange.answer_text()
    parts = [{"type": "text", "text": answer[:9]}, {"type": "text", "text": answer[9:]}]
    ok_plain(exchange, text=parts)


def completion(exchange: Exchange, **options: Any) -> dict[str, Any]:
    """The document of an answer. Options: text, usage, finish_reason, model, message, choices."""
    content = options.get("text", ABSENT)
    message = {"role": "assistant", "content": _content(exchange, content)}
    choice: dict[str, Any] = {"index": 0, "message": {**message, **options.get("message", {})}}
    _put(choice, "finish_reason", options.get("finish_reason", "stop"))
    document = _envelope(exchange, "chat.completion", options)
    document["choices"] = options.get("choices", [choice])
    _put(document, "usage", options.get("usage", USAGE))
    return document


def events(exchange: Exchange, **options: Any) -> Iterator[dict[str, Any]]:
    """The chunks of an answer, the usage on the last one, with the options of `completion`."""
    content = _content(exchange, options.get("text", ABSENT))
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in _pieces(content)]
    if content is None or "message" in options:
        deltas = [{"role": "assistant", "content": content, **options.get("message", {})}]
    for delta in deltas:
        yield _chunk(exchange, options, {"index": 0, "delta": delta, "finish_reason": None})
    last: dict[str, Any] = {"index": 0, "delta": {"content": ""}}
    if content is None:
        last["delta"] = {}
    _put(last, "finish_reason", options.get("finish_reason", "stop"))
    event = _chunk(exchange, options, last)
    _put(event, "usage", options.get("usage", USAGE))
    yield event


def _some_events(exchange: Exchange, pieces: int) -> None:
    exchange.begin()
    for _, event in zip(range(pieces), events(exchange), strict=False):
        exchange.event(event)


def _keep_alive(exchange: Exchange, line: bytes, seconds: float | None, interval: float) -> None:
    rounds = None if seconds is None else max(1, int(seconds / interval))
    done = 0
    while rounds is None or done < rounds:
        exchange.chunk(line)
        exchange.pause(interval)
        done += 1


def _chunk(exchange: Exchange, options: Mapping[str, Any], choice: Any) -> dict[str, Any]:
    event = _envelope(exchange, "chat.completion.chunk", options)
    event["choices"] = options.get("choices", [choice])
    return event


def _envelope(exchange: Exchange, kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    model = options.get("model", exchange.body.get("model"))
    return {"id": f"call-{exchange.call.number}", "object": kind, "created": 1, "model": model}


def _content(exchange: Exchange, content: Any) -> Any:
    return exchange.answer_text() if content is ABSENT else content


def _pieces(content: Any) -> list[Any]:
    if not isinstance(content, str):
        return [content]
    size = max(1, -(-len(content) // _PIECES))
    return [content[start : start + size] for start in range(0, len(content), size)]


def _put(target: dict[str, Any], name: str, value: Any) -> None:
    if value is not ABSENT:
        target[name] = value


@cache
def _bomb() -> bytes:
    packer = zlib.compressobj(1, wbits=zlib.MAX_WBITS | 16)
    blanks = b" " * 1024 * 1024
    parts = [packer.compress(b'{"choices": [')]
    parts += [packer.compress(blanks) for _ in range(_BOMB_BYTES // len(blanks))]
    return b"".join([*parts, packer.compress(b"]}"), packer.flush()])


#: name -> knob. Options given with the name go to the knob.
KNOBS: dict[str, Callable[..., None]] = {
    "ok": ok,
    "ok_plain": ok_plain,
    "ok_stream": ok_stream,
    "ok_twice": ok_twice,
    "slow": slow,
    "slow_stream": slow_stream,
    "silence": silence,
    "keep_alive_blank_lines": keep_alive_blank_lines,
    "keep_alive_comments": keep_alive_comments,
    "headers_then_silence": headers_then_silence,
    "accept_then_reset": accept_then_reset,
    "accept_then_close": accept_then_close,
    "half_body_content_length": half_body_content_length,
    "half_body_chunked": half_body_chunked,
    "half_body_unframed": half_body_unframed,
    "mid_stream_silence": mid_stream_silence,
    "mid_stream_cut": mid_stream_cut,
    "mid_stream_error": mid_stream_error,
    "stream_without_end": stream_without_end,
    "blank_body": partial(text, body="\n\n \n"),
    "empty_body": partial(text, body=""),
    "spaces_content": partial(ok, text="   "),
    "content_null_reasoning": partial(
        ok, text=None, message={"reasoning_content": "Hm."}, finish_reason="length"
    ),
    "content_parts": content_parts,
    "choices_empty": partial(ok_plain, choices=[]),
    "error_200": partial(status, status=200, code="rate_limit_daily"),
    "html_200": partial(page, status=200),
    "refusal": partial(ok, text=None, message={"refusal": "I cannot help with that."}),
    "risk_400": partial(
        status, status=400, message="Content Exists Risk", code="invalid_request_error"
    ),
    "bad_model_400": partial(
        status, status=400, message="Model Not Exist", code="invalid_request_error"
    ),
    "400": partial(status, status=400, code="invalid_request_error"),
    "401": partial(status, status=401, code="invalid_request_error"),
    "402": partial(status, status=402, message="Insufficient Balance", code="unknown_error"),
    "403": partial(status, status=403),
    "404_html": partial(page, status=404),
    "408": partial(status, status=408),
    "409": partial(status, status=409),
    "413": partial(page, status=413),
    "422": partial(status, status=422, message="Failed to deserialize the JSON body"),
    "429": partial(status, status=429, code="rate_limit_reached_error"),
    "429_no_money": partial(status, status=429, code="insufficient_quota"),
    "500": partial(status, status=500),
    "html_502": partial(page, status=502),
    "503": partial(status, status=503),
    "504": partial(page, status=504),
    "redirect_302": redirect,
    "gzip_bomb": gzip_bomb,
    "gzipped": gzipped,
    "text": text,
    "status": status,
    "page": page,
    "usage_missing": partial(ok, usage=ABSENT),
    "usage_null": partial(ok, usage=None),
    "usage_negative": partial(ok, usage={"prompt_tokens": -5, "completion_tokens": -1}),
    "usage_huge": partial(ok, usage={"prompt_tokens": 10**18, "completion_tokens": 10**18}),
    "usage_zero": partial(ok, usage={"prompt_tokens": 0, "completion_tokens": 0}),
    "finish_reason": ok,
    "finish_reason_missing": partial(ok, finish_reason=ABSENT),
    "other_model": partial(ok, model="another-model"),
}
