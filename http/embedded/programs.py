"""The programs of a whole system on one machine: the API, a worker per queue, the scheduler."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator, Mapping

from aijobs.engine.settings import Settings
from aijobs.http.embedded.directory import Directory
from aijobs.http.embedded.process import Command

#: Queue -> threads of its worker.
WORKERS = {"ai-interactive": 2, "ai-background": 1, "ai-analysis": 1, "system": 4}

_BROKER = "aijobs.actors.worker:broker"
_WRITE_SECONDS = 10  # after the cut of running calls, for handing their jobs back
_LAST_SECONDS = _WRITE_SECONDS + 10  # between the time for running calls and the kill


def programs(
    directory: Directory, env: Mapping[str, str], settings: Settings, listener: socket.socket
) -> Iterator[Command]:
    """The commands, in the order of their start. The API serves what `listener` accepts."""
    lines = {"api": _api(listener, settings)}
    lines |= {f"worker {queue}": _worker(queue, settings) for queue in WORKERS}
    lines |= {"scheduler": _scheduler()}
    for name, words in lines.items():
        yield Command(
            name=name,
            argv=(sys.executable, *words),
            log=directory.log(name),
            env=env,
            pass_fds=(listener.fileno(),) if name == "api" else (),
            grace_seconds=settings.shutdown_seconds + _LAST_SECONDS,
        )


def _api(listener: socket.socket, settings: Settings) -> tuple[str, ...]:
    """The socket listens already, so that nobody else can take the port meanwhile."""
    place = ("--bind", f"fd://{listener.fileno()}", "--no-control-socket")
    size = ("--worker-class", "gthread", "--threads", str(settings.api_threads))
    stop = ("--graceful-timeout", "10")
    return ("-m", "gunicorn", "aijobs.http.wsgi:create()", *place, *size, *stop)


def _worker(queue: str, settings: Settings) -> tuple[str, ...]:
    size = ("--processes", "1", "--threads", str(WORKERS[queue]))
    seconds = settings.shutdown_seconds + _WRITE_SECONDS
    wait = ("--worker-shutdown-timeout", str(int(seconds * 1000)))
    return ("-m", "dramatiq", _BROKER, "--queues", queue, *size, *wait)


def _scheduler() -> tuple[str, ...]:
    """periodiq cannot be run with -m, and its script need not be beside the interpreter."""
    return ("-c", "import periodiq, sys; sys.exit(periodiq.entrypoint())", _BROKER)
