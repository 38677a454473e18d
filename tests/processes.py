"""Questions about processes that a test did not start itself, and so cannot wait for."""

from __future__ import annotations

from contextlib import suppress

import psutil

from aijobs.http.embedded.records import MARK


def runs(pid: int) -> bool:
    """Whether the process runs; one that ended and was not yet waited for does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def carrying(mark: str) -> list[int]:
    """The processes that a stack with this directory started, whatever became of their parents."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == mark and runs(process.pid):
                found.append(process.pid)
    return found
