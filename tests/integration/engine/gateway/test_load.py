"""One provider object under many threads, and in little memory."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from aijobs.engine.chat import Reply
from aijobs.engine.errors import ProviderFault
from aijobs.engine.gateway import OpenAIProvider
from aijobs.engine.gateway.body import MAX_BODY_BYTES
from tests.integration.engine.gateway.calls import REQUEST, SOON_SECONDS, a_cut, route_to
from tests.scripted_provider import Exchange, ScriptedProvider
from tests.scripted_provider.knobs import slow

THREADS = 64
MB = 1024 * 1024


def test_64_calls_are_in_flight_at_once_and_keep_their_connections(
    server: ScriptedProvider, provider: OpenAIProvider
) -> None:
    server.unique_answers = True
    everyone = threading.Barrier(THREADS)

    def together(exchange: Exchange) -> None:
        everyone.wait(SOON_SECONDS)
        slow(exchange, seconds=0.3)

    server.script(together)
    replies = [*_calls_at_once(provider, server), *_calls_at_once(provider, server)]
    assert len({reply.text for reply in replies}) == len(server.calls) == 2 * THREADS
    assert len({call.client_port for call in server.calls}) == THREADS


def _calls_at_once(provider: OpenAIProvider, server: ScriptedProvider) -> list[Reply]:
    route = route_to(server)
    with ThreadPoolExecutor(THREADS) as pool:
        calls = [pool.submit(provider.complete, route, REQUEST, a_cut()) for _ in range(THREADS)]
        return [call.result() for call in calls]


def test_a_page_of_5_mb_is_not_kept(server: ScriptedProvider, provider: OpenAIProvider) -> None:
    filling = b"x" * 64 * 1024

    def large_page(exchange: Exchange) -> None:
        exchange.begin(502, content_type="text/html")
        for _ in range(80):
            exchange.chunk(filling)
        exchange.end()

    server.script(large_page)
    with _peak_bytes() as peak:
        fault = _fault(provider, server)
    assert fault.code == "PROVIDER_UNAVAILABLE" and len(fault.detail) <= 1000
    assert peak[0] < 2 * MB


def test_a_document_without_end_is_given_up_at_the_limit(
    server: ScriptedProvider, provider: OpenAIProvider
) -> None:
    filling = b" " * 64 * 1024

    def endless(exchange: Exchange) -> None:
        exchange.begin(content_type="application/json")
        exchange.chunk(b"{")
        while True:
            exchange.chunk(filling)

    server.script(endless)
    with _peak_bytes() as peak:
        assert _fault(provider, server).code == "PROVIDER_UNAVAILABLE"
    assert peak[0] < 4 * MAX_BODY_BYTES
    assert server.calls[0].peer_closed.wait(SOON_SECONDS)


def test_a_gzip_bomb_stays_small(server: ScriptedProvider, provider: OpenAIProvider) -> None:
    server.script("gzip_bomb")
    assert _fault(provider, server).code == "PROVIDER_UNAVAILABLE"  # packs the bomb
    with _peak_bytes() as peak:
        assert _fault(provider, server).code == "PROVIDER_UNAVAILABLE"
    assert peak[0] < 4 * MAX_BODY_BYTES


def _fault(provider: OpenAIProvider, server: ScriptedProvider) -> ProviderFault:
    with pytest.raises(ProviderFault) as raised:
        provider.complete(route_to(server), REQUEST, a_cut())
    return raised.value


@contextmanager
def _peak_bytes() -> Iterator[list[int]]:
    """The most memory of this process, in bytes, that was in use during the block beyond before."""
    peak: list[int] = []
    tracemalloc.start()
    try:
        yield peak
        peak.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()
