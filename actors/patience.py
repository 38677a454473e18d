"""Outlasting an outage of the database with a message in hand: the permit is kept, nothing is
counted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import structlog

from aijobs.models.errors import DatabaseAway

T = TypeVar("T")

_PAUSE_SECONDS = 0.5
_stopping = threading.Event()

log = structlog.get_logger()


def outlast(work: Callable[[], T]) -> T | None:
    """Run `work`, again while the database is away; None when the process stops first."""
    while True:
        try:
            return work()
        except DatabaseAway as error:
            log.warning("database_away", detail=str(error))
            if _stopping.wait(_PAUSE_SECONDS):
                return None


def stop_waiting() -> None:
    """The process stops: let the sweep send lost permits again."""
    _stopping.set()
