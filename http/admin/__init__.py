"""The admin API: what an administrator sees and changes; ADMIN reads, SUPER_ADMIN changes too."""

from __future__ import annotations

from typing import Any

from aijobs.engine.engine import Engine
from aijobs.engine.signals import Signals
from aijobs.http.admin import audit, budget, circuit, doctor, limits
from aijobs.http.middleware import ADMIN_PREFIXES


def add_routes(app: Any, engine: Engine, signals: Signals) -> None:
    """All of its routes."""
    [prefix] = ADMIN_PREFIXES
    app.add_route(f"{prefix}/circuit", circuit.Circuit(engine, signals))
    app.add_route(f"{prefix}/budget", budget.PlatformBudget(engine))
    app.add_route(f"{prefix}/users/{{user_id:uuid}}/limits", limits.Limits(engine, signals))
    app.add_route(f"{prefix}/audit", audit.Audit())
    app.add_route(f"{prefix}/doctor", doctor.Doctor(engine))
