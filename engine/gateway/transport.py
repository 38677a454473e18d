"""httpx over a pool of connections that a cut can reach.

Invariant: a call lets its socket go before the connection goes back to the pool.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Iterable, Iterator
from typing import cast

import httpcore
import httpx

from aijobs.engine.gateway.call import current_call
from aijobs.engine.gateway.network import CuttableBackend

_IDLE_SECONDS = 30.0


class CuttableTransport(httpx.BaseTransport):
    """As many connections as there are threads that call; idle ones are kept for the next calls."""

    def __init__(self, connect_seconds: float, tls: ssl.SSLContext) -> None:
        # It logs the head of every response at DEBUG, and a server may echo the key there.
        logging.getLogger("httpcore").setLevel(logging.WARNING)
        self._pool = httpcore.ConnectionPool(
            ssl_context=tls,
            max_connections=None,
            max_keepalive_connections=None,
            keepalive_expiry=_IDLE_SECONDS,
            network_backend=CuttableBackend(connect_seconds),
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request. Raises OSError and httpcore's errors as they are."""
        url = request.url
        response = self._pool.handle_request(
            httpcore.Request(
                method=request.method,
                url=httpcore.URL(
                    scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                ),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        _refuse_stale(response)
        return httpx.Response(
            status_code=response.status,
            headers=response.headers,
            stream=_Body(response),
            extensions=response.extensions,
        )

    def close(self) -> None:
        """Close what is idle and what is not."""
        self._pool.close()


def _refuse_stale(response: httpcore.Response) -> None:
    """A server that says the same answer twice leaves the second one for the next question."""
    if not response.extensions["network_stream"].heard:
        response.close()
        raise ConnectionError("the answer was there before the question")


class _Body(httpx.SyncByteStream):
    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        yield from cast(Iterable[bytes], self._response.stream)

    def close(self) -> None:
        if call := current_call():
            call.let_go()
        self._response.close()
