"""COMPLETE: what follows the end of a job, once, in one transaction with `completed_at`."""

from __future__ import annotations

from uuid import UUID

import structlog
from uuid_utils.compat import uuid7

from aijobs.engine.errors import ERRORS
from aijobs.engine.metrics import Meters
from aijobs.models import completion
from aijobs.models import database as db
from aijobs.models.completion import Completed
from aijobs.models.lifecycle import Failure

log = structlog.get_logger()


def complete(job_id: UUID, meters: Meters | None = None) -> Completed | None:
    """Notify, wake or reject dependents, set completed_at.

    Told twice, or told of a job that has not ended, it does nothing: None.
    """
    notification_id = uuid7()

    def work() -> Completed | None:
        done = completion.complete(job_id, notification_id)
        if done is not None and done.has_dependents:
            _dependents(done)
        return done

    done = db.transact("complete", work)
    if done is not None:
        job = done.job
        log.info("job_ended", status=job.lifecycle_status, error_code=job.error_code)
        if meters is not None:
            meters.count_end(job.job_type, job.lifecycle_status, job.error_code)
    return done


def _dependents(done: Completed) -> None:
    if done.job.lifecycle_status == "succeeded":
        completion.wake_dependents(done.job.id)
    else:
        completion.reject_dependents(done.job.id, dependency_failed(done.job.id))


def dependency_failed(parent: UUID) -> Failure:
    """The error of a job whose parent did not succeed."""
    error = ERRORS["DEPENDENCY_FAILED"]
    return Failure(error.code, error.public_message("en"), f"job {parent} did not succeed")
