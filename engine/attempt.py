"""Attempts under way in this process: their fences, their scissors, their deadlines.

Invariant: every attempt that this process claimed is in `Attempts` from its claim to its last
write, so that the heartbeat renews it and a cancel or a shutdown finds it.
"""

from __future__ import annotations

import threading
import time
from uuid import UUID

from aijobs.engine.cut import Cut, CutReason
from aijobs.models.credentials import KeyInUse
from aijobs.models.lifecycle import Lease
from aijobs.models.tables import AiJob

_STAGE_SECONDS = 60.0


class Attempt:
    """One claim of one job by this process.

    Its execution time runs from the claim to the end of EXECUTE; each stage must also end by
    `stage_deadline`, past which the lease is no longer renewed: a heartbeat proves work, not life.
    """

    def __init__(self, job: AiJob, holder: str) -> None:
        self.job = job
        self.lease = Lease(job.id, job.attempt_no, holder)
        self.cut = Cut(time.monotonic() + job.timeout_seconds)
        self.stage_deadline = time.monotonic() + _STAGE_SECONDS
        self.calls = job.call_count
        self.key_in_use: KeyInUse | None = None

    def enter(self, seconds: float = _STAGE_SECONDS) -> None:
        """Begin a stage that has to end within `seconds`."""
        self.stage_deadline = time.monotonic() + seconds

    def is_live(self) -> bool:
        """Whether its present stage is within its own deadline."""
        return time.monotonic() < self.stage_deadline

    def may_insist(self) -> bool:
        """Whether a write may be tried again on a lost connection: until the lease is lost."""
        return self.cut.reason is not CutReason.LEASE_LOST


class Attempts:
    """The attempts of one process, by job.

    `unheard`: a claim was sent whose answer never came; the process may hold a job unknowingly.
    """

    def __init__(self) -> None:
        self.unheard = False
        self._by_job: dict[UUID, Attempt] = {}
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        self._closed = False

    def add(self, attempt: Attempt) -> None:
        """Enter an attempt that was just claimed."""
        with self._lock:
            self._by_job[attempt.lease.job_id] = attempt
            if self._closed:
                attempt.cut.cut(CutReason.SHUTDOWN)

    def remove(self, attempt: Attempt) -> None:
        """Leave: its last write is done."""
        with self._idle:
            self._by_job.pop(attempt.lease.job_id, None)
            self._idle.notify_all()

    def all(self) -> list[Attempt]:
        """Those under way now."""
        with self._lock:
            return list(self._by_job.values())

    def cut(self, job_id: UUID, reason: CutReason) -> bool:
        """End the attempt on this job, if it is here; whether it was."""
        with self._lock:
            attempt = self._by_job.get(job_id)
        if attempt is not None:
            attempt.cut.cut(reason)
        return attempt is not None

    def drain(self, seconds: float) -> None:
        """Wait until all have ended, `seconds` at most; then end what is left with SHUTDOWN."""
        with self._idle:
            self._idle.wait_for(lambda: not self._by_job, timeout=seconds)
            self._closed = True
            left = list(self._by_job.values())
        for attempt in left:
            attempt.cut.cut(CutReason.SHUTDOWN)
