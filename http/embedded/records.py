"""What runs for a directory, on disk: the next supervisor stops what a killed one left.

A process is known by pid and creation time together; a pid alone may be a stranger's by now.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path

import psutil

from aijobs.http.embedded.directory import write_private
from aijobs.http.embedded.process import Process

#: In the environment of everything that a stack starts: the stack's directory.
MARK = "AIJOBS_DEV_DIRECTORY"

_GRACE_SECONDS = 10
_POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Record:
    """One started process. Higher tiers are stopped first."""

    name: str
    pid: int
    created: float
    tier: int
    stop_signal: int


class Records:
    """The file of what was started and has not been seen to end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._records: dict[int, Record] = {}

    def add(self, process: Process, tier: int) -> None:
        """Write down a process that has just started."""
        command = process.command
        self._records[process.pid] = Record(
            command.name, process.pid, process.created, tier, int(command.stop_signal)
        )
        self._write()

    def remove(self, process: Process) -> None:
        """Forget a process that has ended."""
        del self._records[process.pid]
        self._write()

    def _write(self) -> None:
        rows = [asdict(record) for record in self._records.values()]
        write_private(self._path, json.dumps(rows, indent=1))


def stop_leftovers(path: Path, mark: str) -> list[str]:
    """Stop what the file at `path` names and still runs, then whatever else carries `mark`.

    The mark finds the workers of a master that is dead. Returns the names of what was stopped.
    """
    stopped = []
    found = sorted(_running(path), key=lambda pair: -pair[0].tier)
    for _, tier in groupby(found, key=lambda pair: pair[0].tier):
        pairs = list(tier)
        for record, process in pairs:
            _signal(process, record.stop_signal)
        _end(process for _, process in pairs)
        stopped += [record.name for record, _ in pairs]
    orphans = list(_marked(mark))
    _end(orphans, grace_seconds=0)
    path.unlink(missing_ok=True)
    return stopped + [f"process {process.pid}" for process in orphans]


def _running(path: Path) -> Iterable[tuple[Record, psutil.Process]]:
    try:
        records = [Record(**row) for row in json.loads(path.read_text())]
    except (OSError, ValueError, TypeError):
        return
    for record in records:
        with suppress(psutil.Error):
            process = psutil.Process(record.pid)
            if process.create_time() == record.created:
                yield record, process


def _marked(mark: str) -> Iterable[psutil.Process]:
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and process.environ().get(MARK) == mark:
                yield process


def _end(processes: Iterable[psutil.Process], grace_seconds: float = _GRACE_SECONDS) -> None:
    for process in _alive_after(grace_seconds, list(processes)):
        _signal(process, signal.SIGKILL)
        _alive_after(_GRACE_SECONDS, [process])


def _alive_after(seconds: float, processes: list[psutil.Process]) -> list[psutil.Process]:
    give_up_at = time.monotonic() + seconds
    while (alive := [p for p in processes if _lives(p)]) and time.monotonic() < give_up_at:
        time.sleep(_POLL_SECONDS)
    return alive


def _lives(process: psutil.Process) -> bool:
    """A zombie does not: where nobody reaps orphans it stays for ever."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _signal(process: psutil.Process, number: int) -> None:
    with suppress(psutil.Error):
        process.send_signal(number)
