"""The edges of a holder (4 to 8 and 13) and its checkpoints. Each is fenced by its lease."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from aijobs.models import database as db
from aijobs.models.lifecycle.edge import (
    DISPATCHED,
    ERROR,
    FINISHED,
    JOB_CANCELLED,
    LEASE_CLEARED,
    Patience,
    job_from,
    refusal,
    take,
)
from aijobs.models.lifecycle.lease import Lease
from aijobs.models.sql import load
from aijobs.models.tables import AiJob
from aijobs.models.transitions import BY_NAME

_INTERNAL_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Failure:
    """The error fields of a job. `internal_message` is cleaned of secrets; its 4 KB are kept."""

    code: str
    public_message: str
    internal_message: str

    def params(self) -> dict[str, Any]:
        kept = self.internal_message.encode(errors="replace")[:_INTERNAL_BYTES]
        return {
            "error_code": self.code,
            "public_message": self.public_message,
            "internal_message": kept.decode(errors="ignore"),
        }


def begin(lease: Lease) -> AiJob:
    """Edge 4: a runtime starts on what it locked."""
    return take(
        "begin",
        lease.job_id,
        changes="started_at = now(), stage = 'PREPARE', progress = 10",
        actor=lease.holder,
        lease=lease,
    )


def succeed(lease: Lease, *, output_hash: str) -> AiJob:
    """Edge 5, the first statement of the PROJECT transaction: nothing follows for a lost lease."""
    return take(
        "succeed",
        lease.job_id,
        sql=load("succeed"),
        actor=lease.holder,
        lease=lease,
        output_hash=output_hash,
    )


def fail(lease: Lease, failure: Failure, *, patient: Patience) -> AiJob:
    """Edge 6: a permanent error, or no retry is left."""
    return take(
        "fail",
        lease.job_id,
        changes=f"{FINISHED}, {ERROR}",
        actor=lease.holder,
        lease=lease,
        patient=patient,
        **failure.params(),
    )


def release_for_retry(
    lease: Lease, failure: Failure, *, delay_seconds: float, patient: Patience
) -> AiJob:
    """Edge 7: a retryable error with a retry left. INTERNAL_ERROR is retried at most once.

    Raises IllegalTransition when no retry is left or a cancel is requested: take another edge.
    """
    return take(
        "release_for_retry",
        lease.job_id,
        condition=(
            "job.retry_count < job.max_retry_count AND job.cancel_requested_at IS NULL "
            "AND (%(error_code)s <> 'INTERNAL_ERROR' OR job.internal_retry_count < 1)"
        ),
        changes=(
            f"{LEASE_CLEARED}, {DISPATCHED}, {ERROR}, retry_count = job.retry_count + 1, "
            "internal_retry_count = job.internal_retry_count "
            "+ (%(error_code)s = 'INTERNAL_ERROR')::int"
        ),
        actor=lease.holder,
        lease=lease,
        patient=patient,
        delay_seconds=delay_seconds,
        **failure.params(),
    )


def hand_back(lease: Lease, *, cause: str, delay_seconds: float, patient: Patience) -> AiJob:
    """Edge 8: through no fault of the job, so no retry is counted and all checkpoints stay.

    `cause`: shutdown, circuit, budget, infrastructure or version; only shutdowns are counted, since
    they are free of charge up to a number. Raises IllegalTransition when a cancel is requested.
    """
    return take(
        "hand_back",
        lease.job_id,
        condition="job.cancel_requested_at IS NULL",
        changes=(
            f"{LEASE_CLEARED}, {DISPATCHED}, hand_back_count = job.hand_back_count "
            "+ (%(cause)s = 'hand_back:shutdown')::int"
        ),
        cause=f"hand_back:{cause}",
        actor=lease.holder,
        lease=lease,
        patient=patient,
        delay_seconds=delay_seconds,
    )


def confirm_cancel(lease: Lease, *, patient: Patience) -> AiJob:
    """Edge 13: the holder ends its work because a cancel is requested."""
    return take(
        "confirm_cancel",
        lease.job_id,
        condition="job.cancel_requested_at IS NOT NULL",
        changes=f"{FINISHED}, {ERROR}",
        actor=lease.holder,
        lease=lease,
        patient=patient,
        **JOB_CANCELLED,
    )


def checkpoint(lease: Lease, **noted: Any) -> AiJob:
    """Note a stage (`checkpoint_params`) as the fenced first statement of a transaction.

    Raises LeaseLost.
    """
    found = db.row(load("checkpoint"), checkpoint_params(lease, **noted))
    if found is None:
        raise lost(lease)
    return job_from(found)


def checkpoint_params(
    lease: Lease,
    *,
    stage: str,
    progress: int,
    lease_seconds: float,
    calls: int = 0,
    model: tuple[str, str] | None = None,
    output_hash: str | None = None,
) -> dict[str, Any]:
    """Parameters of sql/checkpoint_ctes.sql: `calls` is added to call_count, `model` is
    (provider, model name)."""
    provider, name = model or (None, None)
    return {
        "job_id": lease.job_id,
        "attempt_no": lease.attempt_no,
        "holder": lease.holder,
        "stage": stage,
        "progress": progress,
        "lease_seconds": lease_seconds,
        "calls": calls,
        "model_provider": provider,
        "model_name": name,
        "output_hash": output_hash,
    }


def lost(lease: Lease) -> Exception:
    """Why a fenced statement found nothing: LeaseLost, or JobNotFound."""
    return refusal(BY_NAME["succeed"], lease.job_id, lease)
