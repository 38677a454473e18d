"""Counting in files that all processes of a host share, so that any of them can tell the sum.

prometheus_client's multiprocess mode, one file per kind of metric and slot. Invariant: a process
takes the first slot that nobody holds and counts on from where its last holder stopped, so that no
restart loses a count, and there are never more files than processes at once.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from itertools import count
from pathlib import Path

from prometheus_client import Metric, values
from prometheus_client.multiprocess import MultiProcessCollector

_BEGUN_BYTES = 8  # a file that is just being made has no head yet


def share(directory: Path) -> None:
    """Count in `directory` from now on; metrics that exist already stay as they are.

    Raises OSError when it cannot be made or written.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(directory.absolute())  # the library looks there
    # Chosen by the library at its import, which comes before any settings are read.
    values.ValueClass = values.MultiProcessValue(Slot(directory.absolute()))


def merged(directory: Path) -> Iterable[Metric]:
    """What all processes have counted there, dead ones too."""
    files = [str(path) for path in directory.glob("*.db") if path.stat().st_size >= _BEGUN_BYTES]
    found: Iterable[Metric] = MultiProcessCollector.merge(files)
    return found


class Slot:
    """The number that this process holds by a lock, which the kernel takes back when it dies.

    A process id would do for the library, but leaves a file for every process that ever was, and
    is nobody's own where containers share the directory.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._pid = 0
        self._number = -1
        self._lock = -1

    def __call__(self) -> int:
        """The number; a forked child takes one of its own."""
        if self._pid != os.getpid():
            self._take()
        return self._number

    def _take(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)  # the parent's, which keeps it
        self._number = next(number for number in count() if self._try(number))
        self._pid = os.getpid()

    def _try(self, number: int) -> bool:
        lock = os.open(self._directory / f"{number}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return False
        self._lock = lock
        return True
