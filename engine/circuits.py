"""What is done about the circuits of the platform's routes: by an administrator, and for those who
have waited.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from aijobs.engine.engine import Engine
from aijobs.engine.limits import circuit_rules
from aijobs.models import circuit
from aijobs.models import database as db

Action = Literal["open", "half-open", "close"]
PlatformRoute = tuple[str, str]

_SPREAD_SECONDS = 5.0
_STATES: dict[Action, str] = {"open": "open", "half-open": "half_open", "close": "closed"}


def job_types_by_route(engine: Engine) -> dict[PlatformRoute, list[str]]:
    """(provider, model) of each configured route, and the job types that go there."""
    found: dict[PlatformRoute, list[str]] = {}
    for job_type, routes in sorted(engine.circuit_routes().items()):
        for route in routes:
            found.setdefault(route, []).append(job_type)
    return found


def wake(engine: Engine, limit: int) -> int:
    """Send hints for up to `limit` jobs that a circuit has kept waiting, spread over some seconds;
    how many."""
    return circuit.wake(
        engine.registry.known(),
        engine.circuit_routes(),
        circuit_rules(engine.settings),
        limit=limit,
        spread_seconds=_SPREAD_SECONDS,
    )


def move(
    engine: Engine,
    routes: Iterable[PlatformRoute],
    action: Action,
    *,
    who: str,
    reason: str,
    hold: bool,
) -> bool:
    """Open, half open or close the circuits of these routes; whether one of them has changed.

    An open one is probed by itself after a while as any other, unless it is to `hold`: also one
    that is open already. Those who have waited for one that lets calls through again are woken.
    """
    rules = circuit_rules(engine.settings)

    def work() -> bool:
        changed = [
            circuit.move(
                route,
                _STATES[action],
                why=None if action == "close" else reason,
                who=who,
                open_seconds=None if hold else rules.open_seconds,
                probes=rules.probes if action == "half-open" else 0,
            )
            for route in sorted(routes)
        ]
        return any(changed)

    changed = db.transact("circuit", work)
    if changed and action != "open":
        wake(engine, rules.probes if action == "half-open" else engine.settings.outbox_batch)
    return changed
