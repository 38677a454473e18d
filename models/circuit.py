"""The circuits of the platform's routes: who may call, what calls came to, who is woken.

Invariant: a circuit changes by the functions `circuit_*` of migrations/ alone, each change one step
of its epoch; an outcome of another epoch changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from peewee import DatabaseError

from aijobs.models import database as db
from aijobs.models.errors import CircuitRefuses
from aijobs.models.lifecycle.claiming import Known, Routes, claimable_params, routes_param
from aijobs.models.sql import load
from aijobs.models.tables import PlatformCircuit
from aijobs.models.transitions import ENQUEUE

_REFUSED = "AJ002"


@dataclass(frozen=True, slots=True)
class CircuitRules:
    """When a circuit opens, for how many seconds, and how many jobs at once probe it then."""

    failures: int = 10
    open_seconds: float = 60.0
    probes: int = 2


@dataclass(frozen=True, slots=True)
class Recorded:
    """A circuit after a call's outcome, and whether that outcome has changed its state."""

    state: str = "closed"
    changed: bool = False


def recorded(row: Mapping[str, Any] | None) -> Recorded:
    """What a journal's statement says of the call's circuit; a user's key has none."""
    if row is None or row["state"] is None:
        return Recorded()
    return Recorded(row["state"], row["changed"])


@contextmanager
def refusals() -> Iterator[None]:
    """Turn a circuit's refusal of a call into CircuitRefuses."""
    try:
        yield
    except DatabaseError as error:
        if db.sql_state(error) != _REFUSED:
            raise
        raise CircuitRefuses(str(error).splitlines()[0]) from None


def admission(routes: Routes, job_type: str) -> str | None:
    """Whether another job may be made: None, or the code of the refusal. It holds, with the
    circuit's lock, until the caller's transaction ends."""
    params = {"routes": routes_param(routes), "job_type": job_type}
    row = db.row("SELECT circuit_admission(%(routes)s, %(job_type)s) AS code", params)
    return None if row is None else row["code"]


def all_circuits() -> list[PlatformCircuit]:
    """Every circuit that has ever changed or counted a failure."""
    order = (PlatformCircuit.provider, PlatformCircuit.model)
    return list(PlatformCircuit.select().order_by(*order))


def move(route: tuple[str, str], state: str, *, why: str | None, who: str, **more: Any) -> bool:
    """Put the circuit of a route into a state, in the caller's transaction; whether that has
    changed it.

    `open_seconds` is how long an open one waits for its first probe (None: until somebody half
    opens it, also where it is open already), `probes` how many may probe a half-open one at once.
    """
    params = {"provider": route[0], "model": route[1], "state": state, "why": why, "who": who}
    db.rows(_MAKE, params)
    db.rows(_LOCK, params)
    return bool(db.rows(_MOVE, params | {"open_seconds": None, "probes": 0} | more))


def probe_due(who: str, rules: CircuitRules) -> int:
    """Open half what has been open long enough; how many circuits that were."""
    params = {"who": who, "probes": rules.probes}
    found = db.statement(
        "circuit", "SELECT circuit_probe_due(%(who)s, %(probes)s) AS turned", params
    )
    return int(found[0]["turned"])


def wake(
    known: Known, routes: Routes, rules: CircuitRules, *, limit: int, spread_seconds: float
) -> int:
    """Send hints for jobs that a circuit has kept waiting, spread over some seconds; how many.

    Only those that had no hint since a circuit last changed, or none for `open_seconds` while one
    is half open: called until it finds none.
    """
    params = claimable_params("engine", known, routes) | {"again_seconds": rules.open_seconds}
    params |= {"event": ENQUEUE, "limit": limit, "spread_seconds": spread_seconds}
    return len(db.statement("circuit_wake", load("circuit_wake"), params))


_OF_ROUTE = "provider = %(provider)s AND model = %(model)s"

_MAKE = """
INSERT INTO platform_circuit (provider, model) VALUES (%(provider)s, %(model)s)
ON CONFLICT DO NOTHING
"""

_LOCK = f"SELECT FROM platform_circuit WHERE {_OF_ROUTE} FOR UPDATE"

_MOVE = f"""
SELECT circuit_change(circuit, %(state)s, %(why)s, %(who)s, %(open_seconds)s::float8, %(probes)s)
FROM platform_circuit circuit
WHERE {_OF_ROUTE} AND (state <> %(state)s OR (
    state = 'open' AND next_probe_at IS NOT NULL AND %(open_seconds)s::float8 IS NULL))
"""
