"""The queues and how much of each one process works on at a time (contract: outbox.md, Queues)."""

from __future__ import annotations

from aijobs.engine.definition import QUEUES

#: Queues of jobs, in the order of their urgency.
TOPICS: tuple[str, ...] = QUEUES
#: Relay, COMPLETE, maintenance.
SYSTEM = "system"
#: Default worker threads per process; one process per queue.
THREADS = {"ai-interactive": 2, "ai-background": 1, "ai-analysis": 1, SYSTEM: 4}
