"""The outbox: claiming, publishing and returning events, and sending lost hints again.

Invariant: an event leaves `processing` only by the relay that holds it, or by the release of an old
lock; whatever happens between claim and publish at most sends a message twice, which is harmless.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from aijobs.models import database as db
from aijobs.models.lifecycle.claiming import NO_ROUTES, Known, Routes, claimable_params
from aijobs.models.sql import load
from aijobs.models.transitions import ENQUEUE

MAX_FAULTS = 3


@dataclass(frozen=True, slots=True)
class Event:
    """A claimed outbox event."""

    id: int
    event_type: str
    job_id: UUID
    payload: dict[str, Any]
    attempt_count: int


def claim_events(relay: str, limit: int) -> list[Event]:
    """Claim due events for this relay, best rank first.

    A claim whose answer was lost with the connection is taken up instead of made again.
    """
    params = {"relay": relay, "limit": limit}
    tries = 0

    def work() -> list[db.Row]:
        nonlocal tries
        tries += 1
        held = db.rows(_HELD, params) if tries > 1 else []
        return held or db.rows(load("relay_claim"), params)

    return [
        Event(
            row["id"], row["event_type"], row["aggregate_id"], row["payload"], row["attempt_count"]
        )
        for row in db.autocommit("relay_claim", work)
    ]


def publish(relay: str, ids: list[int]) -> None:
    """Mark events published; those whose lock was released are left to their new holder."""
    db.statement("relay_publish", load("relay_publish"), {"relay": relay, "ids": ids})


def return_events(relay: str, ids: list[int], *, error: str) -> None:
    """The broker is away: back to pending, nothing counted."""
    params = {"relay": relay, "ids": ids, "error": error[:500]}
    db.statement("relay_return", _RETURN, params)


def count_fault(relay: str, event_id: int, *, error: str) -> bool:
    """A fault of the event itself; returns whether it is dead now (its third)."""
    params = {"relay": relay, "id": event_id, "error": error[:500], "max": MAX_FAULTS}
    found = db.statement("relay_return", _FAULT, params)
    return bool(found) and found[0]["status"] == "dead"


def release_stale(lock_seconds: float) -> int:
    """Return events whose relay has held them too long; the number released."""
    return len(db.rows(_RELEASE, {"seconds": lock_seconds}))


def resend_hints(
    known: Known, *, age_seconds: float, limit: int, routes: Routes = NO_ROUTES
) -> int:
    """Write enqueue events for claimable jobs whose hint was lost; the number written."""
    params = claimable_params("engine", known, routes) | {
        "age_seconds": age_seconds,
        "limit": limit,
        "event": ENQUEUE,
    }
    return len(db.rows(load("sweep_hints"), params))


def resend_ends(*, age_seconds: float, limit: int) -> int:
    """Send the terminal event of jobs that were never completed again; the number sent."""
    return len(db.rows(load("sweep_ends"), {"age_seconds": age_seconds, "limit": limit}))


_HELD = """
SELECT id, event_type, aggregate_id, payload, attempt_count FROM outbox_event
WHERE status = 'processing' AND locked_by = %(relay)s ORDER BY rank_at, id
"""

_RETURN = """
UPDATE outbox_event
SET status = 'pending', locked_by = NULL, locked_at = NULL, last_error = %(error)s
WHERE id = ANY (%(ids)s) AND locked_by = %(relay)s AND status = 'processing'
"""

_FAULT = """
UPDATE outbox_event
SET attempt_count = attempt_count + 1, last_error = %(error)s, locked_by = NULL, locked_at = NULL,
    status = CASE WHEN attempt_count + 1 >= %(max)s THEN 'dead' ELSE 'pending' END
WHERE id = %(id)s AND locked_by = %(relay)s AND status = 'processing'
RETURNING status
"""

_RELEASE = """
UPDATE outbox_event SET status = 'pending', locked_by = NULL, locked_at = NULL
WHERE status = 'processing' AND locked_at < now() - %(seconds)s * interval '1 second'
RETURNING id
"""
