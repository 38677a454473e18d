"""Signals as something to wait for: nothing is interrupted, nothing is lost, nothing is polled."""

from __future__ import annotations

import os
import select
import signal
from types import FrameType, TracebackType

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Wakeups:
    """While entered, the signals that ask to stop and those of ended children wake `wait`."""

    def __enter__(self) -> Wakeups:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self._before_fd = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        self._before = {
            number: signal.signal(number, _noted) for number in (*STOPS, signal.SIGCHLD)
        }
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._before_fd)
        os.close(self._reader)
        os.close(self._writer)

    def wait(self, seconds: float) -> bool:
        """Sleep until a signal comes or the time is up; whether a stop was asked for."""
        ready, _, _ = select.select([self._reader], [], [], max(seconds, 0))
        return bool(ready) and any(number in STOPS for number in os.read(self._reader, 4096))


def _heard() -> list[signal.Signals]:
    """Under nohup, the end of the terminal goes on meaning nothing."""
    deaf = [signal.SIGHUP] if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else []
    return [number for number in (*STOPS, signal.SIGCHLD) if number not in deaf]


def _noted(number: int, frame: FrameType | None) -> None:
    """The wake-up pipe has it."""
