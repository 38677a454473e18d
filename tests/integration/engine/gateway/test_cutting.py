"""A call ends at once when it is cut, in every phase, and with its deadline whatever is sent."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from aijobs.engine.chat import Reply
from aijobs.engine.cut import CallCut, CutReason
from aijobs.engine.gateway import OpenAIProvider
from tests.eventually import eventually
from tests.integration.engine.gateway.calls import (
    REQUEST,
    SOON_SECONDS,
    Running,
    a_cut,
    route_to,
)
from tests.scripted_provider import Exchange, ScriptedProvider, unaccepting_server
from tests.scripted_provider.knobs import events
from tests.scripted_provider.listeners import silent_server

#: A phase of a call in which the provider has the request, and how long it takes it there.
WAITING = [
    ("silence", {}),
    ("headers_then_silence", {}),
    ("keep_alive_blank_lines", {}),
    ("keep_alive_comments", {}),
    ("mid_stream_silence", {}),
    ("slow_stream", {"seconds": 3600}),
]


@pytest.mark.parametrize(("knob", "options"), WAITING)
@pytest.mark.parametrize("reused", [False, True], ids=["fresh", "reused"])
def test_a_cut_ends_a_waiting_call(
    server: ScriptedProvider,
    provider: OpenAIProvider,
    knob: str,
    options: dict[str, Any],
    reused: bool,
) -> None:
    if reused:
        provider.complete(route_to(server), REQUEST, a_cut())
    server.script(knob, **options)
    running = Running(provider, route_to(server))
    eventually(lambda: len(server.calls) == 1 + reused)
    running.cut.cut(CutReason.CANCELLED)
    assert running.reason() is CutReason.CANCELLED
    assert server.calls[-1].peer_closed.wait(SOON_SECONDS)
    assert len({call.client_port for call in server.calls}) == 1


def test_a_connection_that_was_cut_serves_no_other_call(
    server: ScriptedProvider, provider: OpenAIProvider
) -> None:
    server.enqueue("mid_stream_silence")
    running = Running(provider, route_to(server))
    eventually(lambda: server.calls)
    running.cut.cut(CutReason.LEASE_LOST)
    assert running.reason() is CutReason.LEASE_LOST
    provider.complete(route_to(server), REQUEST, a_cut())
    first, second = server.calls
    assert first.client_port != second.client_port


def test_a_cut_after_its_call_does_not_touch_the_next_one(
    server: ScriptedProvider, provider: OpenAIProvider
) -> None:
    go_on = threading.Event()
    finished = a_cut()
    provider.complete(route_to(server), REQUEST, finished)
    server.script(lambda exchange: _answer_after(go_on, exchange))
    running = Running(provider, route_to(server))
    eventually(lambda: len(server.calls) == 2)
    finished.cut(CutReason.CANCELLED)
    go_on.set()
    assert isinstance(running.outcome(), Reply)
    assert len({call.client_port for call in server.calls}) == 1


def _answer_after(go_on: threading.Event, exchange: Exchange) -> None:
    assert go_on.wait(SOON_SECONDS)
    exchange.respond(200, {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]})


def test_a_cut_between_the_answer_and_its_end_is_a_cut(
    server: ScriptedProvider, provider: OpenAIProvider
) -> None:
    answered = threading.Event()

    def no_end(exchange: Exchange) -> None:
        exchange.begin()
        for event in events(exchange):
            exchange.event(event)
        answered.set()
        exchange.hold()

    server.script(no_end)
    running = Running(provider, route_to(server))
    assert answered.wait(SOON_SECONDS)
    running.cut.cut(CutReason.CANCELLED)
    assert running.reason() is CutReason.CANCELLED


def test_the_end_of_an_answer_is_its_end_even_if_the_connection_stays_open(
    server: ScriptedProvider, provider: OpenAIProvider
) -> None:
    def no_close(exchange: Exchange) -> None:
        exchange.begin()
        for event in events(exchange):
            exchange.event(event)
        exchange.event("[DONE]")
        exchange.hold()

    server.script(no_close)
    assert isinstance(Running(provider, route_to(server)).outcome(), Reply)
    assert server.calls[0].peer_closed.wait(SOON_SECONDS)


def test_a_cut_that_came_first_sends_nothing(
    server: ScriptedProvider, provider: OpenAIProvider
) -> None:
    cut = a_cut()
    cut.cut(CutReason.SHUTDOWN)
    with pytest.raises(CallCut) as raised:
        provider.complete(route_to(server), REQUEST, cut)
    assert raised.value.reason is CutReason.SHUTDOWN and server.calls == []


def test_a_cut_ends_the_look_up_of_a_host(
    provider: OpenAIProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, answer = threading.Event(), threading.Event()

    def never_resolves(*_: object, **__: object) -> list[Any]:
        asked.set()
        answer.wait()
        return []

    monkeypatch.setattr(socket, "getaddrinfo", never_resolves)
    running = Running(provider, route_to("http://host.example"))
    assert asked.wait(SOON_SECONDS)
    eventually(lambda: running.is_inside("resolve"))
    running.cut.cut(CutReason.CANCELLED)
    assert running.reason() is CutReason.CANCELLED
    answer.set()


def test_a_cut_ends_connecting(provider: OpenAIProvider) -> None:
    with unaccepting_server() as url:
        before = _connecting_to(url)
        running = Running(provider, route_to(url))
        eventually(lambda: _connecting_to(url) == before + 1)
        running.cut.cut(CutReason.CANCELLED)
        assert running.reason() is CutReason.CANCELLED
        assert _connecting_to(url) == before


def _connecting_to(url: str) -> int:
    """How many sockets of this host are in SYN_SENT to the server."""
    remote = f"0100007F:{urlsplit(url).port:04X}"
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[2] == remote and row[3] == "02" for row in rows)


def test_a_cut_ends_the_tls_handshake(provider: OpenAIProvider) -> None:
    with silent_server() as (address, listener):
        running = Running(provider, route_to(f"https://{address}"))
        peer, _ = listener.accept()
        with peer:
            assert peer.recv(65536)  # the ClientHello
            running.cut.cut(CutReason.CANCELLED)
            assert running.reason() is CutReason.CANCELLED
            peer.settimeout(SOON_SECONDS)
            assert peer.recv(1) == b""


@pytest.mark.parametrize("knob", ["silence", "mid_stream_silence", "keep_alive_comments"])
def test_a_cut_ends_a_call_over_tls(
    tls_server: ScriptedProvider, tls_provider: OpenAIProvider, knob: str
) -> None:
    tls_provider.complete(route_to(tls_server), REQUEST, a_cut())
    tls_server.script(knob)
    running = Running(tls_provider, route_to(tls_server))
    eventually(lambda: len(tls_server.calls) == 2)
    running.cut.cut(CutReason.CANCELLED)
    assert running.reason() is CutReason.CANCELLED
    assert tls_server.calls[-1].peer_closed.wait(SOON_SECONDS)
    assert len({call.client_port for call in tls_server.calls}) == 1


def test_no_byte_that_is_sent_extends_the_deadline(
    server: ScriptedProvider, provider: OpenAIProvider
) -> None:
    for knob, options in WAITING:
        server.enqueue(knob, **options)
    calls = [Running(provider, route_to(server), seconds=1.0) for _ in WAITING]
    assert {running.reason() for running in calls} == {CutReason.DEADLINE}
    assert len(server.calls) == len(WAITING)
    assert all(call.peer_closed.wait(SOON_SECONDS) for call in server.calls)


def test_the_deadline_ends_connecting_when_it_comes_first(provider: OpenAIProvider) -> None:
    with unaccepting_server() as url:
        assert Running(provider, route_to(url), seconds=0.1).reason() is CutReason.DEADLINE


def test_the_deadline_ends_the_tls_handshake_when_it_comes_first(provider: OpenAIProvider) -> None:
    with silent_server() as (address, _):
        url = f"https://{address}"
        assert Running(provider, route_to(url), seconds=0.1).reason() is CutReason.DEADLINE
