"""The programs of production on servers that a test stops and starts: API, workers, scheduler.

Nothing supervises them: a process that ends is missed by `processes`.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import httpx
import psutil

from aijobs.engine.settings import Settings
from aijobs.http.embedded.directory import Directory
from aijobs.http.embedded.process import Command, Process
from aijobs.http.embedded.programs import programs
from aijobs.http.embedded.records import MARK, Records
from tests.world import ROOM_VARIABLES

_TIER = 1


class Fleet:
    """Every program once, with the environment `environ` added to this one's."""

    def __init__(self, folder: Path, environ: Mapping[str, str], records: Records) -> None:
        self._directory = Directory(folder)
        self._env = {
            **os.environ,
            **ROOM_VARIABLES,
            **environ,
            MARK: str(folder.parent),
            "PYTHONUNBUFFERED": "1",
        }
        self._settings = Settings.from_env(self._env)
        self._records = records
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._started: list[Process] = []

    @property
    def url(self) -> str:
        """Where the API is."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    @property
    def settings(self) -> Settings:
        """What the programs were given."""
        return self._settings

    def start(self, threads: Mapping[str, int]) -> None:
        """Start all; `threads` replaces the number that a queue's worker has."""
        for command in self._commands():
            self._start(_with_threads(command, threads))

    def start_alone(self, name: str) -> None:
        """Start one of the programs."""
        (command,) = (one for one in self._commands() if one.name == name)
        self._start(command)

    def stop(self) -> None:
        """End all at once."""
        for process in self._started:
            process.kill()
            self._records.remove(process)
        self._listener.close()

    def processes(self) -> set[tuple[int, float]]:
        """What runs now, masters and their children, as (pid, time of its start)."""
        found = set()
        for process in self._started:
            with suppress(psutil.NoSuchProcess):
                master = psutil.Process(process.pid)
                found |= {_known(one) for one in (master, *master.children(recursive=True))}
        return {one for one in found if one is not None}

    def logs(self) -> dict[str, str]:
        """What each program has written."""
        return {path.stem: path.read_text() for path in self._directory.logs.glob("*.log")}

    def is_ready(self) -> bool:
        """Whether the API says so."""
        try:
            answer = httpx.get(f"{self.url}/readyz", timeout=5, trust_env=False)
        except httpx.HTTPError:
            return False
        return answer.status_code == httpx.codes.OK

    def _commands(self) -> Iterator[Command]:
        return programs(self._directory, self._env, self._settings, self._listener)

    def _start(self, command: Command) -> None:
        process = Process(command)
        self._started.append(process)
        self._records.add(process, _TIER)


def _known(process: psutil.Process) -> tuple[int, float] | None:
    with suppress(psutil.NoSuchProcess):
        if process.status() != psutil.STATUS_ZOMBIE:
            return process.pid, process.create_time()
    return None


def _with_threads(command: Command, threads: Mapping[str, int]) -> Command:
    count = threads.get(command.name.removeprefix("worker "))
    if count is None:
        return command
    words = list(command.argv)
    words[words.index("--threads") + 1] = str(count)
    return replace(command, argv=tuple(words))
