"""Attempts under way in this process: their fences, their scissors, their deadlines.

Invariant: every attempt that this process claimed is in `Attempts` from its claim to its last
write, so that the heartbeat renews it and a cancel or a shutdown finds it.
"""

from __future__ import annotations

import threading
import time
from uuid import UUID

from aijobs.engine.cut import CallCut, Cut, CutReason
from aijobs.models.credentials import KeyInUse
from aijobs.models.lifecycle import Lease
from aijobs.models.tables import AiJob

_STAGE_SECONDS = 60.0
_WAIT_SECONDS = 900.0  # for its turn in the process: longer than any other attempt takes


class Attempt:
    """One claim of one job by this process.

    Its execution time runs from the claim to the end of EXECUTE; each stage must also end by
    `stage_deadline`, past which the lease is no longer renewed: a heartbeat proves work, not life.
    """

    def __init__(self, job: AiJob, holder: str) -> None:
        self.job = job
        self.lease = Lease(job.id, job.attempt_no, holder)
        self.cut = Cut(time.monotonic() + job.timeout_seconds)
        self.stage_deadline = time.monotonic() + _WAIT_SECONDS
        self.calls = job.call_count
        self.key_in_use: KeyInUse | None = None

    def begin(self) -> None:
        """Start its clocks: it has waited for its turn in the process, which is not its fault."""
        self.cut.deadline = time.monotonic() + self.job.timeout_seconds
        self.enter()

    def check_wait(self) -> None:
        """Raise CallCut when it was ended while it waited for its turn."""
        if self.cut.reason is not None:
            raise CallCut(self.cut.reason)

    def enter(self, seconds: float = _STAGE_SECONDS) -> None:
        """Begin a stage that has to end within `seconds`."""
        self.stage_deadline = time.monotonic() + seconds

    def is_live(self) -> bool:
        """Whether it has a lease to renew, and its present stage is within its own deadline."""
        return self.may_insist() and time.monotonic() < self.stage_deadline

    def may_insist(self) -> bool:
        """Whether a write may be tried again on a lost connection: until the lease is lost."""
        return self.cut.reason is not CutReason.LEASE_LOST


class Attempts:
    """The attempts of one process. A lost one may still be here when its job is claimed again.

    `unheard`: a claim was sent whose answer never came; the process may hold a job unknowingly.
    """

    def __init__(self) -> None:
        self.unheard = False
        self._under_way: list[Attempt] = []
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        self._closed = False

    def add(self, attempt: Attempt) -> None:
        """Enter an attempt that was just claimed; an earlier one of its job has lost its lease."""
        self.cut(attempt.lease.job_id, CutReason.LEASE_LOST)
        with self._lock:
            self._under_way.append(attempt)
            if self._closed:
                attempt.cut.cut(CutReason.SHUTDOWN)

    def remove(self, attempt: Attempt) -> None:
        """Leave: its last write is done."""
        with self._idle:
            self._under_way = [other for other in self._under_way if other is not attempt]
            self._idle.notify_all()

    def all(self) -> list[Attempt]:
        """Those under way now."""
        with self._lock:
            return list(self._under_way)

    def cut(self, job_id: UUID, reason: CutReason) -> bool:
        """End the attempt on this job, if it is here; whether it was."""
        found = [attempt for attempt in self.all() if attempt.lease.job_id == job_id]
        for attempt in found:
            attempt.cut.cut(reason)
        return bool(found)

    def drain(self, seconds: float) -> None:
        """Wait until all have ended, `seconds` at most; then end what is left with SHUTDOWN."""
        with self._idle:
            self._idle.wait_for(lambda: not self._under_way, timeout=seconds)
            self._closed = True
            left = list(self._under_way)
        for attempt in left:
            attempt.cut.cut(CutReason.SHUTDOWN)

    def wait_until_idle(self, seconds: float) -> None:
        """Wait until none is left, `seconds` at most."""
        with self._idle:
            self._idle.wait_for(lambda: not self._under_way, timeout=seconds)
