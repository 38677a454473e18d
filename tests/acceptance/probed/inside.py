"""What runs in a forked process: production's worker or API, told where to die.

Invariant: apart from the hook that every probe calls, nothing differs from production.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from dramatiq import Worker

from aijobs.actors import worker
from aijobs.engine.engine import build_engine
from aijobs.engine.settings import Settings
from aijobs.http import wsgi
from aijobs.models import probes
from tests.bench.instant import InstantProvider


@dataclass(frozen=True, slots=True)
class Orders:
    """How a process works and where it dies: at the first hit of `dies_at` after a hit of `since`,
    once the file `after` is there.

    No `queues` are all of them. `instant`: a provider in the process that answers at once.
    `poll_milliseconds`: how long its threads wait for a message before they look around.
    """

    environ: Mapping[str, str]
    log: Path
    dies_at: str | None = None
    since: str | None = None
    after: Path | None = None
    queues: tuple[str, ...] = ()
    threads: int = 2
    instant: bool = False
    poll_milliseconds: int = 100

    @property
    def last_words(self) -> Path:
        """The file in which the process writes the probe at which it kills itself."""
        return self.log.with_suffix(".died")


def work(orders: Orders) -> None:
    """Be a worker until SIGTERM, as `dramatiq aijobs.actors.worker:broker` is."""
    ends = {signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    _settle_in(orders)
    settings = Settings.from_env(orders.environ)
    engine = build_engine(settings)
    if orders.instant:
        engine = replace(engine, provider=InstantProvider())
    made = Worker(
        worker.build(settings, engine),
        queues=set(orders.queues) or None,
        worker_threads=orders.threads,
        worker_timeout=orders.poll_milliseconds,
    )
    made.start()
    signal.sigwait(ends)
    made.stop()


def serve(orders: Orders, listener: socket.socket) -> None:
    """Be an API on a listening socket, until killed."""
    _settle_in(orders)
    server = WSGIServer(("127.0.0.1", 0), _Quiet, bind_and_activate=False)
    server.socket.close()
    server.socket = listener
    server.server_name, server.server_port = listener.getsockname()
    server.setup_environ()
    server.set_app(wsgi.build(Settings.from_env(orders.environ)))
    server.serve_forever()


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the application has its own log."""


def _settle_in(orders: Orders) -> None:
    log = os.open(orders.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if orders.dies_at is not None:
        assert {orders.dies_at, orders.since or orders.dies_at} <= probes.POINTS
        probes.install(_Fate(orders).at)


def _end_with_parent() -> None:
    """A run of the tests that is killed leaves no process behind."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


class _Fate:
    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._is_near = orders.since is None

    def at(self, point: str) -> None:
        after = self._orders.after
        if point == self._orders.dies_at and self._is_near and (after is None or after.exists()):
            self._orders.last_words.write_text(point)
            os.kill(os.getpid(), signal.SIGKILL)
            signal.pause()  # nothing follows, whichever thread the signal ends first
        if point == self._orders.since:
            self._is_near = True
