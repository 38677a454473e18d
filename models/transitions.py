"""The list of transitions, once, as data (contract: lifecycle.md).

Everything that is not listed is illegal; the database refuses it too (migrations/0001).
"""

from __future__ import annotations

from dataclasses import dataclass

STATUSES = ("queued", "locked", "running", "succeeded", "failed", "cancelled", "expired")
TERMINAL = frozenset({"succeeded", "failed", "cancelled"})
#: Held under a lease by the attempt `attempt_no` of `locked_by`.
ACTIVE = frozenset({"locked", "running"})

#: lifecycle_status -> the generated column `status` that old readers use.
LEGACY_STATUS = {
    "queued": "pending",
    "locked": "processing",
    "running": "processing",
    "succeeded": "completed",
    "failed": "failed",
    "cancelled": "cancelled",
    "expired": "pending",
}
#: lifecycle_status -> what users see.
USER_STATUS = {
    "queued": "queued",
    "locked": "running",
    "running": "running",
    "succeeded": "succeeded",
    "failed": "failed",
    "cancelled": "cancelled",
    "expired": "queued",
}


@dataclass(frozen=True, slots=True)
class Transition:
    """One named edge: who takes it, from which states, and the outbox event written with it."""

    number: int
    name: str
    sources: frozenset[str]
    target: str
    who: str
    event: str | None = None

    @property
    def by_holder(self) -> bool:
        """Whether the edge needs the lease: (job_id, attempt_no, locked_by)."""
        return self.who == "holder"


ENQUEUE = "ai.job.enqueue"
COMPLETED = "ai.job.completed"
FAILED = "ai.job.failed"
CANCELLED = "ai.job.cancelled"


def _edge(number: int, name: str, path: str, who: str, event: str | None = None) -> Transition:
    sources, target = (side.strip() for side in path.split("->"))
    return Transition(number, name, frozenset(sources.split("/")) - {"-"}, target, who, event)


TRANSITIONS: tuple[Transition, ...] = (
    _edge(1, "create", "- -> queued", "user", ENQUEUE),
    _edge(2, "claim", "queued -> running", "engine"),
    _edge(3, "lock", "queued -> locked", "runtime"),
    _edge(4, "begin", "locked -> running", "holder"),
    _edge(5, "succeed", "locked/running -> succeeded", "holder", COMPLETED),
    _edge(6, "fail", "locked/running -> failed", "holder", FAILED),
    _edge(7, "release_for_retry", "locked/running -> queued", "holder", ENQUEUE),
    _edge(8, "hand_back", "locked/running -> queued", "holder", ENQUEUE),
    _edge(9, "expire", "locked/running -> expired", "reaper"),
    _edge(10, "requeue", "expired -> queued", "reaper", ENQUEUE),
    _edge(11, "give_up", "expired -> failed", "reaper", FAILED),
    _edge(12, "cancel", "queued/expired -> cancelled", "anyone", CANCELLED),
    _edge(13, "confirm_cancel", "locked/running -> cancelled", "holder", CANCELLED),
    _edge(14, "reject", "queued -> failed", "system", FAILED),
)

BY_NAME = {edge.name: edge for edge in TRANSITIONS}


def is_listed(source: str, target: str) -> bool:
    """Whether some listed edge leads from `source` to `target`."""
    return any(source in edge.sources and target == edge.target for edge in TRANSITIONS)
