"""The programs that `aijobs dev` starts are those of the system."""

from __future__ import annotations

from aijobs.actors.queues import THREADS
from aijobs.http.embedded.programs import WORKERS


def test_there_is_a_worker_for_every_queue_with_its_threads() -> None:
    assert WORKERS == THREADS
