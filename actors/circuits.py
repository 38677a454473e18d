"""The circuits' pass: opens half what has been open long enough, and wakes who has waited."""

from __future__ import annotations

from aijobs.engine import circuits
from aijobs.engine.engine import Engine
from aijobs.engine.limits import circuit_rules
from aijobs.models import circuit

_BATCHES = 20


class Circuits:
    """Works on all circuits; two at once are safe."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._batch = engine.settings.outbox_batch

    def run_once(self, _since_success: float | None = None) -> int:
        """One pass; the number of circuits turned and hints written."""
        settings = self._engine.settings
        done = 0
        if settings.circuit_by_itself:
            done += circuit.probe_due(self._engine.holder, circuit_rules(settings))
        for _ in range(_BATCHES):
            woken = circuits.wake(self._engine, self._batch)
            done += woken
            if woken < self._batch:
                break
        return done
