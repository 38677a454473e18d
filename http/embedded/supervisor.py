"""Keeps commands running: starts them in order, restarts what dies, stops all of them in order.

A lower tier outlives a higher one: servers start first and stop last. Whatever happens, `stop`
leaves no process behind.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from aijobs.http.embedded.process import Command, Process
from aijobs.http.embedded.records import Records
from aijobs.http.embedded.wakeups import Wakeups

_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0
_STEADY_SECONDS = 60.0
_IDLE_SECONDS = 5.0
_PROBE_SECONDS = 0.05


class StopAsked(Exception):
    """SIGINT, SIGTERM or SIGHUP came."""


@dataclass(slots=True)
class _Ward:
    """A command under supervision, running or waiting for its next start."""

    command: Command
    tier: int
    process: Process | None = None
    deaths: int = 0
    start_at: float = 0.0


class Supervisor:
    """Looks after its commands, as long as one of its methods is running."""

    def __init__(self, wakeups: Wakeups, records: Records, say: Callable[[str], None]) -> None:
        self._wakeups = wakeups
        self._records = records
        self._say = say
        self._wards: list[_Ward] = []

    def start(self, command: Command, *, tier: int) -> None:
        """Start a command and keep it running from now on."""
        ward = _Ward(command, tier)
        self._wards.append(ward)
        self._launch(ward)

    def run(self) -> None:
        """Keep everything running. Raises StopAsked; never returns."""
        while True:
            self._rest(_IDLE_SECONDS)

    def wait_until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Whether `condition` came true in time. Raises StopAsked."""
        give_up_at = time.monotonic() + seconds
        while not condition():
            if time.monotonic() >= give_up_at:
                return False
            self._rest(_PROBE_SECONDS)
        return True

    def finish(self, command: Command, *, tier: int) -> int:
        """Run a command once to its end; its exit status. Raises StopAsked."""
        ward = _Ward(command, tier, start_at=float("inf"))
        self._wards.append(ward)
        process = self._launch(ward)
        while (status := process.exit_status()) is None:
            if self._wakeups.wait(_IDLE_SECONDS):
                raise StopAsked
        self._forget(ward)
        self._wards.remove(ward)
        return status

    def deaths(self, name: str) -> int:
        """How often the command of this name has died since it last ran for a while."""
        return sum(ward.deaths for ward in self._wards if ward.command.name == name)

    def stop(self) -> None:
        """Stop everything, the highest tier first; asked again meanwhile, cut the grace short."""
        for tier in sorted({ward.tier for ward in self._wards}, reverse=True):
            self._stop_tier([w for w in self._wards if w.tier == tier])
        self._wards.clear()

    def _rest(self, seconds: float) -> None:
        now = time.monotonic()
        for ward in self._wards:
            self._look_after(ward, now)
        starts = [w.start_at - now for w in self._wards if w.process is None]
        if self._wakeups.wait(min([seconds, *starts])):
            raise StopAsked

    def _look_after(self, ward: _Ward, now: float) -> None:
        if ward.process is None:
            if now >= ward.start_at:
                self._launch_again(ward, now)
            return
        status = ward.process.exit_status()
        if status is not None:
            if now - ward.process.started >= _STEADY_SECONDS:
                ward.deaths = 0
            self._forget(ward)
            self._postpone(ward, now, f"ended with status {status}")

    def _postpone(self, ward: _Ward, now: float, what: str) -> None:
        pause = min(_FIRST_PAUSE_SECONDS * 2**ward.deaths, _LONGEST_PAUSE_SECONDS)
        ward.deaths += 1
        ward.start_at = now + pause
        self._say(f"{ward.command.name} {what}: again in {pause:g} s, see {ward.command.log}")

    def _launch(self, ward: _Ward) -> Process:
        ward.process = Process(ward.command)
        self._records.add(ward.process, ward.tier)
        return ward.process

    def _launch_again(self, ward: _Ward, now: float) -> None:
        try:
            self._launch(ward)
        except OSError as error:
            self._postpone(ward, now, f"cannot be started ({error})")

    def _forget(self, ward: _Ward) -> None:
        if ward.process is not None:
            self._records.remove(ward.process)
            ward.process = None

    def _stop_tier(self, wards: list[_Ward]) -> None:
        running = [w.process for w in wards if w.process is not None]
        for process in running:
            process.ask_to_stop()
        give_up_at = time.monotonic() + max((p.command.grace_seconds for p in running), default=0)
        while any(process.exit_status() is None for process in running):
            seconds = give_up_at - time.monotonic()
            if seconds <= 0 or self._wakeups.wait(seconds):
                break
        for ward in wards:
            if ward.process is not None:
                ward.process.kill()
            self._forget(ward)
