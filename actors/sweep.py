"""The sweep: sends again what a lost message should have done."""

from __future__ import annotations

from functools import partial

from dramatiq.errors import ConnectionClosed

from aijobs.actors.transport import Transport
from aijobs.engine.engine import Engine
from aijobs.engine.stages.complete import dependency_failed
from aijobs.models import completion, outbox
from aijobs.models import database as db

_BATCHES = 20


class Sweep:
    """Lost hints, ends that were never completed, jobs whose parents did not succeed."""

    def __init__(self, engine: Engine, broker: Transport) -> None:
        self._engine = engine
        self._broker = broker
        self._age = engine.settings.redispatch_seconds
        self._batch = engine.settings.outbox_batch

    def run_once(self, _since_success: float | None = None) -> int:
        """One pass; the number of events written and jobs rejected."""
        done = 0
        for _ in range(_BATCHES):
            sent = db.autocommit("sweep", self._resend_hints)
            sent += db.autocommit("sweep", self._resend_ends)
            done += sent
            if sent < self._batch or self._is_behind():
                break
        return done + self._reject_orphans()

    def _resend_hints(self) -> int:
        known, routes = self._engine.registry.known(), self._engine.circuit_routes()
        return outbox.resend_hints(known, routes=routes, age_seconds=self._age, limit=self._batch)

    def _resend_ends(self) -> int:
        return outbox.resend_ends(age_seconds=self._age, limit=self._batch)

    def _is_behind(self) -> bool:
        """Whether the broker has more to deliver than a batch: more hints would not help."""
        try:
            return self._broker.backlog() > self._batch
        except ConnectionClosed:
            return True

    def _reject_orphans(self) -> int:
        rejected = 0
        for parent in completion.orphans(self._batch):
            failure = dependency_failed(parent)
            reject = partial(completion.reject_dependents, parent, failure)
            rejected += db.transact("reject", reject)
        return rejected
