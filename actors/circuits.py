"""The circuits' pass: opens half what has been open long enough, and wakes who has waited."""

from __future__ import annotations

from aijobs.engine.engine import Engine
from aijobs.engine.limits import circuit_rules
from aijobs.models import circuit

_BATCHES = 20
_SPREAD_SECONDS = 5.0


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
            woken = self._wake()
            done += woken
            if woken < self._batch:
                break
        return done

    def _wake(self) -> int:
        return circuit.wake(
            self._engine.registry.known(),
            self._engine.circuit_routes(),
            circuit_rules(self._engine.settings),
            limit=self._batch,
            spread_seconds=_SPREAD_SECONDS,
        )
