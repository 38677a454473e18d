"""The periodic passes: what each repairs, and running those that are due.

Invariant: a failing pass stops no other one, and a pass runs in one place at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from aijobs.actors.circuits import Circuits
from aijobs.actors.purge import purge
from aijobs.actors.reaper import Reaper
from aijobs.actors.sweep import Sweep
from aijobs.actors.transport import Transport
from aijobs.engine.engine import Engine
from aijobs.engine.metrics import Meters
from aijobs.models import database as db
from aijobs.models import maintenance, outbox
from aijobs.models.errors import DatabaseAway

PURGE_INTERVAL_SECONDS = 3600.0
#: Less than one, since a pass that comes a little early must not wait for the next round.
_DUE_INTERVALS = 0.6
_OVERDUE_INTERVALS = 2.0

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Pass:
    """A named piece of periodic work. `work` gets the seconds since its last success."""

    name: str
    interval_seconds: float
    work: Callable[[float | None], int]


class Passes:
    """All passes of a process. `worked` is called when one of them has written events."""

    def __init__(
        self, passes: list[Pass], worked: Callable[[], None], meters: Meters | None = None
    ) -> None:
        self._passes = passes
        self._worked = worked
        self._meters = meters or Meters()

    def run_due(self) -> None:
        """Run every pass that is due and not running elsewhere."""
        self._run_after(_DUE_INTERVALS)

    def run_overdue(self) -> None:
        """Run the passes that have missed two intervals: whoever starts them is away."""
        self._run_after(_OVERDUE_INTERVALS)

    def _run_after(self, intervals: float) -> None:
        ages = {item.name: item.interval_seconds * intervals for item in self._passes}
        try:
            due = maintenance.due(ages)
        except DatabaseAway as error:
            log.warning("passes_wait", detail=str(error))
            return
        for item in self._passes:
            if item.name in due:
                self._run(item)

    def _run(self, item: Pass) -> None:
        try:
            done = maintenance.run_pass(
                item.name, item.work, min_seconds=item.interval_seconds * _DUE_INTERVALS
            )
        except maintenance.Waiting as reason:
            log.info("pass_waits", name=item.name, reason=str(reason))
            self._meters.count_pass(item.name, "waiting")
            return
        except Exception as error:
            log.warning("pass_failed", name=item.name, error=f"{type(error).__name__}: {error}")
            self._meters.count_pass(item.name, "failed")
            self._record(item.name, error)
            return
        if done is not None:
            self._meters.count_pass(item.name, "succeeded")
        if done:
            log.info("pass_worked", name=item.name, count=done)
            self._worked()

    def _record(self, name: str, error: Exception) -> None:
        try:
            maintenance.record_failure(name, f"{type(error).__name__}: {error}")
        except Exception:
            log.debug("pass_failure_not_recorded", name=name)


class Ticker:
    """A thread beside the messages: nothing that repairs may hang on what it repairs."""

    def __init__(self, passes: Passes, interval_seconds: float) -> None:
        self._passes = passes
        self._interval = interval_seconds
        self._stopping = False

    def run(self) -> None:
        """Run overdue passes until stopped."""
        while not self._stopping:
            try:
                self._passes.run_overdue()
            except Exception as error:
                log.warning("ticker_failed", error=type(error).__name__)
            self._sleep()

    def stop(self) -> None:
        self._stopping = True

    def _sleep(self) -> None:
        ends = time.monotonic() + self._interval
        while not self._stopping and time.monotonic() < ends:
            time.sleep(min(0.5, self._interval))


def all_passes(engine: Engine, broker: Transport, worked: Callable[[], None]) -> Passes:
    """The passes of a system worker."""
    settings = engine.settings
    interval = settings.reaper_interval_seconds
    reaper = Reaper(engine)
    sweep = Sweep(engine, broker)
    circuits = Circuits(engine)

    def release(_since: float | None) -> int:
        seconds = settings.outbox_lock_seconds
        return db.autocommit("relay_release", lambda: outbox.release_stale(seconds))

    return Passes(
        [
            Pass("reaper", interval, reaper.run_once),
            Pass("sweep", interval, sweep.run_once),
            Pass(maintenance.CIRCUITS, interval, circuits.run_once),
            Pass("outbox_release", interval, release),
            Pass("purge", PURGE_INTERVAL_SECONDS, lambda _since: purge()),
        ],
        worked,
        engine.meters,
    )
