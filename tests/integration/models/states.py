"""Jobs in each of the seven states, brought there by listed edges."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from aijobs.models import database as db
from aijobs.models.ledger import Bound, Budget, UserLimits, pass_gate
from aijobs.models.lifecycle import (
    Failure,
    Lease,
    NewJob,
    claim,
    confirm_cancel,
    create,
    expire,
    fail,
    request_cancel,
    requeue,
    succeed,
)
from aijobs.models.tables import AiJob
from tests.world import World

QUEUE = "ai-interactive"
FAILURE = Failure("PROVIDER_TIMEOUT", "The model did not answer in time.", "read timed out")
STATES = ("queued", "locked", "running", "succeeded", "failed", "cancelled", "expired")
#: No limit is in the way of what these tests are about.
PLENTY = UserLimits(10**6, 10**12, None, 10**6)
BUDGET = Budget(10**12, 10**12)
TERMINAL = ("succeeded", "failed", "cancelled")
ACTIVE = ("locked", "running")


def hasty() -> bool:
    """A caller without patience for a lost connection."""
    return False


def sql(text: str, **params: Any) -> list[dict[str, Any]]:
    """A statement of the test's own."""
    return db.read(lambda: db.rows(text, params))


def new_job(here: World, **changes: Any) -> NewJob:
    """A quiz as it could be created next, with the given fields changed."""
    fields: dict[str, Any] = {
        "id": uuid7(),
        "user_id": here.user_id,
        "job_type": "quiz_generation",
        "definition_version": 1,
        "target_type": "knowledge_base",
        "target_id": here.base_id,
        "params": {},
        "lane": "engine",
        "queue_name": QUEUE,
        "priority": 50,
        "request_hash": "0" * 64,
        "credential_mode": "platform_key",
        "prompt_version": "v1",
        "input_schema_version": "1",
        "output_schema_version": "1",
        "max_retry_count": 3,
        "timeout_seconds": 120,
        "snapshot_hours": 24,
        "redaction_version": "1",
        "snapshot": None,
        "snapshot_hash": None,
    }
    return NewJob(**{**fields, **changes})


def created(here: World, **changes: Any) -> AiJob:
    """A queued job with the given fields."""
    new = new_job(here, **changes)

    def work() -> AiJob | None:
        pass_gate(new.user_id, PLENTY)
        return create(new, actor="test", reserving=(Bound(1000, 0), BUDGET))

    made = db.transact("create", work)
    assert made is not None
    return made


def claimed(here: World, seconds: float = 60) -> Lease | None:
    """The lease on the best claimable quiz or card set of the queue."""
    job = claim(
        QUEUE, known=here.engine.registry.known(), holder=here.engine.holder, lease_seconds=seconds
    )
    return None if job is None else Lease(job.id, job.attempt_no, here.engine.holder)


def running(here: World) -> Lease:
    """The lease on a job that was just created."""
    job = here.create()
    lease = claimed(here)
    assert lease is not None and lease.job_id == job.id
    return lease


def job_in(here: World, status: str) -> Lease:
    """A job in this state, with the lease of its last attempt (that of none yet: attempt 0)."""
    if status == "queued":
        return Lease(here.create().id, 0, here.engine.holder)
    if status == "locked":
        return _locked(here)
    lease = running(here)
    if status == "succeeded":
        succeed(lease, output_hash="0" * 64)
    elif status == "failed":
        fail(lease, FAILURE, patient=hasty)
    elif status == "cancelled":
        request_cancel(lease.job_id, reason="user")
        confirm_cancel(lease, patient=hasty)
    elif status == "expired":
        expire_now(here, lease.job_id)
    return lease


def expire_now(here: World, job_id: UUID) -> None:
    """Let a lease lapse, and have the reaper see it."""
    here.lapse(job_id)
    expire(job_id, grace_seconds=30)


def take_over(here: World, job_id: UUID) -> Lease:
    """The reaper's edges, and then a claim by `here`: the earlier attempt has lost its lease."""
    expire_now(here, job_id)
    requeue(job_id, delay_seconds=0)
    lease = claimed(here)
    assert lease is not None and lease.job_id == job_id
    return lease


def _locked(here: World) -> Lease:
    """Edge 3, which a runtime takes, in SQL."""
    lease = Lease(here.create().id, 1, here.engine.holder)
    sql(
        "UPDATE ai_job SET lifecycle_status = 'locked', attempt_no = 1, locked_by = %(holder)s, "
        "locked_at = now(), lock_until = now() + interval '60 s' WHERE id = %(id)s",
        id=lease.job_id,
        holder=lease.holder,
    )
    return lease
