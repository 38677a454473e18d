"""Long-polling a job: the answer waits until its ETag differs from the one that the client has.

Invariant: waiting requests hold at most half of the process's threads and no connection; when there
is no room to wait, the answer comes at once, and the client asks again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import falcon

from aijobs.engine.refusal import FieldFault, Refused
from aijobs.engine.sentence import Sentence
from aijobs.models.tables import AiJob
from aijobs.models.transitions import TERMINAL

MAX_SECONDS = 60
_LOOK_SECONDS = 0.2


def etag(job: AiJob) -> str:
    """Changes with the job's status and progress (and a cancel request), and with nothing else."""
    asked = "-cancelling" if job.cancel_requested_at is not None else ""
    return f'"{job.lifecycle_status}-{job.progress}{asked}"'


def known_etags(req: falcon.Request) -> frozenset[str] | None:
    """What If-None-Match lists, `*` as it is; None without the header.

    Compared weakly (RFC 9110, 13.1.2): a proxy that compresses makes `W/"x"` of `"x"`.
    """
    given = req.if_none_match
    return None if given is None else frozenset(tag if tag == "*" else f'"{tag}"' for tag in given)


def is_known(job: AiJob, known: frozenset[str] | None) -> bool:
    """Whether the client has the job as it is now."""
    return known is not None and not known.isdisjoint(("*", etag(job)))


def wait_seconds(req: falcon.Request) -> int:
    """What `?wait=` asks for; 0 when it does not. Raises Refused."""
    given = req.get_param("wait")
    if given is None:
        return 0
    digits = given.isascii() and given.isdigit() and len(given) <= 4
    if not digits or int(given) > MAX_SECONDS:
        message = Sentence("must be a whole number of seconds up to {limit}", limit=MAX_SECONDS)
        fault = FieldFault("wait", message)
        raise Refused("INVALID_REQUEST", Sentence("wait cannot be used."), errors=(fault,))
    return int(given)


class LongPoll:
    """Waits for jobs to change. One per process."""

    def __init__(self, threads: int) -> None:
        self._room = threading.BoundedSemaphore(max(1, threads // 2))

    def changed(
        self, look: Callable[[], AiJob], known: frozenset[str] | None, seconds: int
    ) -> AiJob:
        """The job as soon as its ETag is not `known`, else after `seconds`."""
        job = look()
        if seconds == 0 or not _is_same(job, known) or not self._room.acquire(blocking=False):
            return job
        try:
            give_up_at = time.monotonic() + seconds
            while _is_same(job, known) and time.monotonic() < give_up_at:
                time.sleep(_LOOK_SECONDS)
                job = look()
            return job
        finally:
            self._room.release()


def _is_same(job: AiJob, known: frozenset[str] | None) -> bool:
    """A terminal job never changes any more: it is answered at once."""
    return job.lifecycle_status not in TERMINAL and (known is None or is_known(job, known))
