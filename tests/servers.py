"""Real servers for the tests: a PostgreSQL and a Valkey per run, and ones of a test's own to stop.

A run that was killed leaves its servers behind; the next run on this machine stops them.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from aijobs.http.embedded.postgres import Postgres
from aijobs.http.embedded.process import Process
from aijobs.http.embedded.records import Records, stop_leftovers
from aijobs.http.embedded.valkey import Valkey
from tests.eventually import eventually

#: Nothing of a test needs to survive the machine.
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}

_PASSWORD = "of-the-tests"
_START_SECONDS = 60


class _OwnServer:
    """A server that a test starts and stops as it likes; its URL stays the same throughout."""

    def __init__(self, server: Postgres | Valkey, records: Records | None) -> None:
        self._server = server
        self._records = records
        self._process: Process | None = None

    @property
    def url(self) -> str:
        """Where it is, from its first start on."""
        return self._server.url

    @property
    def pid(self) -> int:
        """Its first process."""
        assert self._process is not None, "it does not run"
        return self._process.pid

    def start(self) -> None:
        """Start it and wait until it answers."""
        assert self._process is None, "it runs already"
        self._server.prepare()
        self._process = Process(self._server.command(os.environ))
        if self._records is not None:
            self._records.add(self._process, tier=0)
        eventually(self._server.is_ready, _START_SECONDS)

    def _end(self, *, killed: bool) -> None:
        if self._process is None:
            return
        if killed:
            self._process.kill()
        else:
            self._process.stop()
        if self._records is not None:
            self._records.remove(self._process)
        self._process = None


class OwnPostgres(_OwnServer):
    """A PostgreSQL in a directory of its own; durable unless `options` say otherwise."""

    def __init__(
        self, folder: Path, options: Mapping[str, str] | None = None, records: Records | None = None
    ) -> None:
        self._log = folder / "postgres.log"
        super().__init__(Postgres(folder / "postgres", self._log, options), records)

    def stop(self, mode: Literal["fast", "kill"] = "fast") -> None:
        """`fast` closes every connection and writes everything; `kill` is a crash."""
        self._end(killed=mode == "kill")


class OwnValkey(_OwnServer):
    """A Valkey in a directory of its own; with `saves` it keeps its data over a stop."""

    def __init__(
        self, folder: Path, *, saves: bool = False, records: Records | None = None
    ) -> None:
        log = folder / "valkey.log"
        super().__init__(Valkey(folder / "valkey", log, _PASSWORD, saves=saves), records)

    def stop(self, mode: Literal["term", "kill"] = "term") -> None:
        """`term` is an orderly end; `kill` is a crash."""
        self._end(killed=mode == "kill")


@contextmanager
def run_folder() -> Iterator[Path]:
    """A folder for one run of the tests; those of runs that were killed are cleared away."""
    parent = Path(tempfile.gettempdir()) / f"aijobs-tests-{os.geteuid()}"
    parent.mkdir(mode=0o700, exist_ok=True)
    for left in parent.glob("run-*"):
        _clear_away(left)
    new = Path(tempfile.mkdtemp(prefix="new-", dir=parent))
    with _held(new):  # before it has a name by which another run would clear it away
        folder = new.rename(parent / new.name.replace("new-", "run-"))
        yield folder
        shutil.rmtree(folder, ignore_errors=True)


def records_of(folder: Path) -> Records:
    """The list of what runs for a run's folder."""
    return Records(folder / "processes.json")


def _clear_away(folder: Path) -> None:
    with suppress(BlockingIOError, FileNotFoundError), _held(folder):
        stop_leftovers(folder / "processes.json", str(folder))
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    with (folder / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
