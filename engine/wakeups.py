"""What a worker does when it hears of a cancel request."""

from __future__ import annotations

from uuid import UUID

from aijobs.engine.attempt import Attempts
from aijobs.engine.cut import CutReason


def hear_cancel(attempts: Attempts, data: bytes) -> None:
    """Cut the attempt on the job named in `data`, if this process has it; garbage is nobody's."""
    try:
        job_id = UUID(data.decode())
    except ValueError:
        return
    attempts.cut(job_id, CutReason.CANCELLED)
