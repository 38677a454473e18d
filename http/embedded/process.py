"""One started program in a session of its own: a terminal's Ctrl-C does not reach it.

Its process group is swept when it ends, so that no worker outlives its master.
"""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to start, and how it likes to be stopped."""

    name: str
    argv: tuple[str, ...]
    log: Path
    env: Mapping[str, str] = field(repr=False)
    cwd: Path | None = None
    user: str | None = None
    pass_fds: tuple[int, ...] = ()
    stop_signal: signal.Signals = signal.SIGTERM
    grace_seconds: float = 30.0


class Process:
    """A command that runs. `pid` and `created` together name it for ever."""

    def __init__(self, command: Command) -> None:
        self.command = command
        self.started = time.monotonic()
        self._popen = _start(command)
        self._swept = False
        self.pid = self._popen.pid
        self.created = psutil.Process(self.pid).create_time()

    def exit_status(self) -> int | None:
        """None while it runs; afterwards its status, and nothing of its group is left."""
        status = self._popen.poll()
        if status is not None:
            self._sweep()
        return status

    def ask_to_stop(self) -> None:
        """Send the command's own stop signal to its first process alone."""
        self._popen.send_signal(self.command.stop_signal)

    def kill(self) -> None:
        """End it and its group at once, and wait for that."""
        self._sweep()
        self._popen.wait()

    def stop(self) -> None:
        """Ask, wait for the grace, then kill."""
        self.ask_to_stop()
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(self.command.grace_seconds)
        self.kill()

    def _sweep(self) -> None:
        """Once: the number of a group that is gone may become somebody else's."""
        if self._swept:
            return
        self._swept = True
        with suppress(ProcessLookupError, PermissionError):  # PermissionError: zombies, on macOS
            os.killpg(self.pid, signal.SIGKILL)


def _start(command: Command) -> subprocess.Popen[bytes]:
    with command.log.open("ab") as log:
        return subprocess.Popen(
            command.argv,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=dict(command.env),
            cwd=command.cwd,
            pass_fds=command.pass_fds,
            start_new_session=True,
            **as_user(command.user),
        )


def as_user(name: str | None) -> dict[str, Any]:
    """Popen's arguments for running as another user, without this one's groups."""
    if name is None:
        return {}
    entry = pwd.getpwnam(name)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": ()}
