"""The server: accepts, records, and lets the script answer.

Invariant: the record of a call exists before a byte of its answer is sent.
"""

from __future__ import annotations

import json
import socket
import ssl
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.scripted_provider.answers import default_answer
from tests.scripted_provider.exchange import Exchange, PeerClosed, ProviderCall, Stopping
from tests.scripted_provider.journal import Journal
from tests.scripted_provider.knobs import Behaviour, behaviour

_POLL_SECONDS = 0.01


class ScriptedProvider:
    """A provider on 127.0.0.1, from entering the context to leaving it.

    `calls` holds the records in the order of arrival. `answer` writes the model's text for a
    request body; with `unique_answers` the default one differs from call to call.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        answer: Callable[[dict[str, Any]], str] | None = None,
        unique_answers: bool = False,
        log: Path | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.calls: list[ProviderCall] = []
        self.answer = answer
        self.unique_answers = unique_answers
        self._default: Behaviour = behaviour("ok")
        self._queue: deque[Behaviour] = deque()
        self._lock = threading.Lock()
        self._journal = Journal(log) if log is not None else None
        self._server = _Server(("127.0.0.1", port), self, tls)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL_SECONDS,), daemon=True
        )

    @property
    def base_url(self) -> str:
        """What a route's base URL is set to."""
        scheme = "http" if self._server.tls is None else "https"
        return f"{scheme}://127.0.0.1:{self._server.server_port}"

    def script(self, name_or_function: str | Behaviour, **options: Any) -> None:
        """How calls are answered from now on: a knob's name with its options, or a function."""
        self._default = behaviour(name_or_function, **options)

    def enqueue(self, name_or_function: str | Behaviour, **options: Any) -> None:
        """How one call is answered, before the default: first come, first served."""
        with self._lock:
            self._queue.append(behaviour(name_or_function, **options))

    def __enter__(self) -> ScriptedProvider:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()
        self._thread.join()
        if self._journal is not None:
            self._journal.close()
        if self._server.errors:
            raise self._server.errors[0]

    def serve(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> bool:
        """Answer one call; whether the connection goes on."""
        with self._lock:
            call = _record(len(self.calls) + 1, handler, body)
            self.calls.append(call)
            behave = self._queue.popleft() if self._queue else self._default
        self._note(call)
        is_stopping = self._server.stopping.is_set
        exchange = Exchange(call, handler.connection, lambda: self._text(call), is_stopping)
        keeps = _behave(behave, exchange)
        self._note(call)
        call.ended.set()
        return keeps

    def _text(self, call: ProviderCall) -> str:
        if self.answer is not None:
            return self.answer(call.body)
        mark = f" (call {call.number})" if self.unique_answers else ""
        return default_answer(call.body, mark)

    def _note(self, call: ProviderCall) -> None:
        if self._journal is not None:
            self._journal.write(call)


def _record(number: int, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> ProviderCall:
    return ProviderCall(
        number=number,
        received_at=time.time(),
        body=body,
        headers=dict(handler.headers.items()),
        path=handler.path,
        client_port=handler.client_address[1],
    )


def _behave(behave: Behaviour, exchange: Exchange) -> bool:
    call = exchange.call
    try:
        behave(exchange)
    except PeerClosed:
        call.outcome = "peer_closed"
        call.peer_closed.set()
        return False
    except Stopping:
        call.outcome = "stopped"
        return False
    if call.outcome == "received":
        call.outcome = "answered"
    return exchange.keeps_connection


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 512

    def __init__(
        self, address: tuple[str, int], provider: ScriptedProvider, tls: ssl.SSLContext | None
    ) -> None:
        super().__init__(address, _Handler)
        self.provider = provider
        self.tls = tls
        self.stopping = threading.Event()
        self.errors: list[BaseException] = []
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()

    def stop(self) -> None:
        """Close everything, also what still waits."""
        self.stopping.set()
        self.shutdown()
        self.server_close()
        with self._open_lock:
            for sock in self._open:
                with suppress(OSError):
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)

    def get_request(self) -> tuple[socket.socket, Any]:
        sock, address = super().get_request()
        if self.tls is not None:
            sock = self.tls.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        with self._open_lock:
            self._open.add(sock)
        return sock, address

    def shutdown_request(self, request: Any) -> None:
        with self._open_lock:
            self._open.discard(request)
            request.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away between two requests is nobody's error; a broken script is."""
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, OSError):
            self.errors.append(error)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self.path.endswith("/chat/completions"):
            self.send_error(404)
            return
        provider = self.server.provider
        goes_on = provider.serve(self, json.loads(data))
        self.close_connection = self.close_connection or not goes_on

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: `calls` is the log."""
