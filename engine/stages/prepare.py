"""PREPARE: a message is a permit to claim the best claimable job of its queue."""

from __future__ import annotations

import threading

from aijobs.engine.attempt import Attempt
from aijobs.engine.engine import Engine
from aijobs.models.lifecycle import adopt, claim

_claiming = threading.Lock()


def prepare(engine: Engine, queue_name: str) -> Attempt | None:
    """Claim and enter an attempt; None when nothing is claimable: a quiet exit.

    One claim of a process at a time, so that a claim whose answer was lost with the connection can
    be told from one that another thread is about to enter; it is adopted as soon as the database is
    back. Raises DatabaseAway: the permit is lost, and the sweep sends another.
    """
    attempts = engine.attempts
    with _claiming:
        entered = [attempt.lease.job_id for attempt in attempts.all()]
        job = adopt(engine.holder, entered) if attempts.unheard else None
        attempts.unheard = True
        job = job or claim(
            queue_name,
            known=engine.registry.known(),
            routes=engine.circuit_routes(),
            holder=engine.holder,
            lease_seconds=engine.settings.lease_seconds,
            entered=entered,
        )
        attempts.unheard = False
        if job is None:
            return None
        attempt = Attempt(job, engine.holder)
        attempts.add(attempt)
        return attempt
