"""The whole system as `aijobs dev` runs it, for tests that kill parts of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx

from aijobs.http.embedded import env_file
from tests.eventually import eventually
from tests.processes import carrying, runs

_START_SECONDS = 120
_STOP_SECONDS = 90


class Stack:
    """One `aijobs dev` in a process group of its own, as under a terminal."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "stack"
        self.env: dict[str, str] = {}
        self._supervisor: subprocess.Popen[str] | None = None

    def begin(self, *words: str, **environ: str) -> subprocess.Popen[str]:
        """Start the command and return at once; `environ` is added to a clean environment."""
        command = [sys.executable, "-m", "aijobs.http.cli", "dev", "--data", str(self.data)]
        self._supervisor = subprocess.Popen(
            [*command, "--port", "0", *words],
            env={**_clean_environment(), **environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        return self._supervisor

    def start(self, *words: str, **environ: str) -> None:
        """Start the command and wait until the stack is ready; then `env` is its env file."""
        (self.data / "env").unlink(missing_ok=True)
        supervisor = self.begin(*words, **environ)
        eventually(lambda: self._is_up(supervisor), _START_SECONDS)
        self.env = env_file.read(self.data / "env")

    def processes(self) -> dict[str, int]:
        """Name -> pid of what the supervisor runs at present."""
        return {row["name"]: row["pid"] for row in json.loads(self._records().read_text())}

    def is_ready(self) -> bool:
        """Whether the API says so."""
        try:
            answer = httpx.get(f"{self.env['AIJOBS_URL']}/readyz", timeout=5, trust_env=False)
        except httpx.HTTPError:
            return False
        return answer.status_code == 200

    def interrupt(self) -> str:
        """Ctrl-C: SIGINT to the group, as a terminal does it. Returns what was printed."""
        assert self._supervisor is not None
        os.killpg(self._supervisor.pid, signal.SIGINT)
        printed, _ = self._supervisor.communicate(timeout=_STOP_SECONDS)
        assert self._supervisor.returncode == 0
        return printed

    def kill(self) -> None:
        """End the supervisor as a crash does, and nothing else."""
        assert self._supervisor is not None
        self._supervisor.kill()
        self._supervisor.communicate()

    def left_running(self) -> list[int]:
        """Every process of this directory that runs, with or without a supervisor."""
        recorded = self.processes().values() if self._records().exists() else []
        return sorted({*carrying(str(self.data)), *filter(runs, recorded)})

    def clear_away(self) -> None:
        """End everything, whatever state a failed test left it in."""
        if self._supervisor is not None and self._supervisor.poll() is None:
            self.kill()
        for pid in self.left_running():
            os.kill(pid, signal.SIGKILL)

    def _records(self) -> Path:
        return self.data / "processes.json"

    def _is_up(self, supervisor: subprocess.Popen[str]) -> bool:
        if supervisor.poll() is not None:
            raise RuntimeError("".join(supervisor.communicate()))
        return (self.data / "env").exists()


def _clean_environment() -> dict[str, str]:
    ours = ("AIJOBS_", "DATABASE_", "REDIS_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}
