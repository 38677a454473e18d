"""What an operator watches, as the database has it now.

Invariant: nothing here reads finished jobs, published events or ended calls: the cost grows with
what is under way, never with history.
"""

from __future__ import annotations

from dataclasses import dataclass

from peewee import DatabaseError, InterfaceError

from aijobs.models import database as db
from aijobs.models.errors import DatabaseAway
from aijobs.models.sql import load


@dataclass(frozen=True, slots=True)
class ObservedCircuit:
    """The circuit of a route; its epoch counts its changes."""

    provider: str
    model: str
    state: str = "closed"
    epoch: int = 0
    consecutive_failures: int = 0


@dataclass(frozen=True, slots=True)
class ObservedJobs:
    """The unfinished jobs of a queue in one status. `missed` have been without a lease for too
    long, `cancelling` wait for their holder; `oldest_seconds` is of those that are due."""

    queue_name: str
    status: str
    count: int
    missed: int
    cancelling: int
    oldest_seconds: float | None


@dataclass(frozen=True, slots=True)
class ObservedEvents:
    """The events of the outbox in one status."""

    status: str
    count: int
    oldest_seconds: float | None


@dataclass(frozen=True, slots=True)
class ObservedDay:
    """The platform's present UTC day."""

    tokens_used: int = 0
    tokens_reserved: int = 0
    tokens_overrun: int = 0
    cost_used: int = 0
    cost_reserved: int = 0
    cost_overrun: int = 0


@dataclass(frozen=True, slots=True)
class Observed:
    """All of it. `passes`: name -> when it last succeeded, in seconds since 1970."""

    circuits: list[ObservedCircuit]
    jobs: list[ObservedJobs]
    events: list[ObservedEvents]
    day: ObservedDay
    passes: dict[str, float]


def observe(missed_seconds: float) -> Observed:
    """Read it on a connection beside the pool. A lease is missed when it lapsed `missed_seconds`
    ago. Raises DatabaseAway when the database cannot say, whatever the reason."""
    try:
        with db.reserved_connection():
            return db.read(lambda: _observed(missed_seconds))
    except (DatabaseError, InterfaceError) as error:  # no such table yet, out of time, ...
        raise DatabaseAway(str(error).strip()) from error


def _observed(missed_seconds: float) -> Observed:
    jobs = db.rows(load("observed_jobs"), {"missed_seconds": missed_seconds})
    day = db.row(_DAY)
    return Observed(
        circuits=[ObservedCircuit(**row) for row in db.rows(_CIRCUITS)],
        jobs=[ObservedJobs(**row) for row in jobs],
        events=[ObservedEvents(**row) for row in db.rows(load("observed_outbox"))],
        day=ObservedDay(**day) if day else ObservedDay(),
        passes={row["name"]: row["succeeded_at"] for row in db.rows(_PASSES)},
    )


_CIRCUITS = "SELECT provider, model, state, epoch, consecutive_failures FROM platform_circuit"

_DAY = """
SELECT tokens_used, tokens_reserved, tokens_overrun, cost_used, cost_reserved, cost_overrun
FROM platform_usage_daily WHERE utc_date = (now() AT TIME ZONE 'UTC')::date
"""

# A pass's row `<name>:wait` is the reaper's patience, not a pass.
_PASSES = """
SELECT name, extract(epoch FROM last_succeeded_at)::float AS succeeded_at FROM maintenance_pass
WHERE last_succeeded_at IS NOT NULL AND right(name, 5) <> ':wait'
"""
