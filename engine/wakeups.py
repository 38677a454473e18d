"""What a worker does when it hears of a cancel request."""

from __future__ import annotations

from uuid import UUID

import redis

from aijobs.engine.attempt import Attempts
from aijobs.engine.cut import CutReason
from aijobs.engine.signals import cancels_among


def hear_cancel(attempts: Attempts, data: bytes) -> None:
    """Cut the attempt on the job named in `data`, if this process has it; garbage is nobody's."""
    try:
        job_id = UUID(data.decode())
    except ValueError:
        return
    attempts.cut(job_id, CutReason.CANCELLED)


def catch_up_on_cancels(attempts: Attempts, client: redis.Redis) -> None:
    """Cut the attempts whose cancel may have been told while nobody listened. Raises RedisError."""
    under_way = [attempt.lease.job_id for attempt in attempts.all()]
    for job_id in cancels_among(client, under_way):
        attempts.cut(job_id, CutReason.CANCELLED)
