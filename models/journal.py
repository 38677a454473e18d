"""The journal of provider calls: what was asked, what came back, what it cost.

Invariant: a row is committed before its call begins, so that no call is ever unknown to the books; a
`completed` row is an answer that is never asked for again.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from aijobs.models import database as db
from aijobs.models.lifecycle import Lease, checkpoint
from aijobs.models.lifecycle.edge import Patience
from aijobs.models.results import Validated, save_validated
from aijobs.models.tables import AiJob, AiUsageLog


@dataclass(frozen=True, slots=True)
class NewCall:
    """A call about to be made. The bounds stand in for the real tokens until those are known."""

    id: UUID
    user_id: UUID
    tier: str
    provider: str
    model: str
    credential_mode: str
    prompt_key: str
    prompt_version: str
    request_hash: str
    input_bound: int
    output_bound: int


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """How a call ended. Unknown token counts are None: then the row keeps its bounds, estimated."""

    state: str
    latency_ms: int
    http_status: int | None = None
    finish_reason: str | None = None
    response_model: str | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_micro_usd: int | None = None
    error_code: str | None = None
    raw_response: str | None = None


def answer_of(job_id: UUID, request_hash: str) -> str | None:
    """The raw answer of a completed call with this request, whichever attempt made it."""
    row = db.row(
        "SELECT raw_response FROM ai_usage_log WHERE job_id = %(job_id)s "
        "AND request_hash = %(request_hash)s AND state = 'completed' AND raw_response IS NOT NULL "
        "ORDER BY call_no LIMIT 1",
        {"job_id": job_id, "request_hash": request_hash},
    )
    return None if row is None else str(row["raw_response"])


def start_call(lease: Lease, call: NewCall, *, lease_seconds: float, patient: Patience) -> AiJob:
    """Commit that a call begins, fenced; calls that a dead attempt left open become unknown.

    Raises LeaseLost.
    """

    def work() -> AiJob:
        job = checkpoint(
            lease,
            stage="EXECUTE",
            progress=30,
            lease_seconds=lease_seconds,
            calls=1,
            model=(call.provider, call.model),
        )
        db.rows(_CLOSE_OPEN, {"job_id": lease.job_id, "attempt_no": lease.attempt_no})
        db.rows(_START, asdict(call) | _key(lease, job.call_count) | {"call_no": job.call_count})
        return job

    return db.transact("call_started", work, patient=patient)


def finish_call(lease: Lease, call_no: int, outcome: CallOutcome, *, patient: Patience) -> None:
    """Complete an attempt's own row. Not fenced by the lease, since the money was spent: it touches
    nothing but the row of this very call."""
    db.statement("call_finished", _FINISH, _finish(lease, call_no, outcome), patient=patient)


def finish_with_result(
    lease: Lease,
    call: tuple[int, CallOutcome] | None,
    validated: Validated,
    *,
    lease_seconds: float,
    patient: Patience,
) -> AiJob:
    """EXECUTE's checkpoint: the validated result, fenced, with the call that brought it.

    `call` is (call_no, outcome), or None when an earlier attempt's answer is reused. Raises LeaseLost:
    then not even the call is written here, and the caller completes it with `finish_call`.
    """

    def work() -> AiJob:
        job = checkpoint(
            lease,
            stage="EXECUTE",
            progress=70,
            lease_seconds=lease_seconds,
            output_hash=validated.output_hash,
        )
        if call is not None:
            db.rows(_FINISH, _finish(lease, *call))
        save_validated(lease, validated)
        return job

    return db.transact("execute", work, patient=patient)


def calls_of(job_id: UUID) -> list[AiUsageLog]:
    """All calls of a job, in order."""
    return list(AiUsageLog.select().where(AiUsageLog.job_id == job_id).order_by(AiUsageLog.call_no))


_CLOSE_OPEN = """
UPDATE ai_usage_log SET state = 'unknown', finished_at = now(), success = false
WHERE job_id = %(job_id)s AND attempt_no < %(attempt_no)s AND state = 'started'
"""

_START = """
INSERT INTO ai_usage_log
    (id, job_id, user_id, attempt_no, call_no, call_id, state, tier, provider, model,
     credential_mode, prompt_key, prompt_version, request_hash, input_tokens, output_tokens, estimated)
VALUES
    (%(id)s, %(job_id)s, %(user_id)s, %(attempt_no)s, %(call_no)s, %(call_id)s, 'started', %(tier)s,
     %(provider)s, %(model)s, %(credential_mode)s, %(prompt_key)s, %(prompt_version)s,
     %(request_hash)s, %(input_bound)s, %(output_bound)s, true)
ON CONFLICT (job_id, call_id) DO NOTHING
"""

_FINISH = """
UPDATE ai_usage_log
SET state = %(state)s, finished_at = now(), latency_ms = %(latency_ms)s,
    success = %(state)s = 'completed', http_status = %(http_status)s,
    finish_reason = %(finish_reason)s, response_model = %(response_model)s,
    input_tokens = coalesce(%(input_tokens)s, input_tokens),
    output_tokens = coalesce(%(output_tokens)s, output_tokens),
    cached_tokens = %(cached_tokens)s, reasoning_tokens = %(reasoning_tokens)s,
    estimated = %(input_tokens)s::bigint IS NULL OR %(output_tokens)s::bigint IS NULL,
    cost_micro_usd = %(cost_micro_usd)s, error_code = %(error_code)s,
    raw_response = %(raw_response)s
WHERE job_id = %(job_id)s AND attempt_no = %(attempt_no)s AND call_id = %(call_id)s
  AND state IN ('started', 'unknown')
"""


def _key(lease: Lease, call_no: int) -> dict[str, Any]:
    return {
        "job_id": lease.job_id,
        "attempt_no": lease.attempt_no,
        "call_id": f"{lease.attempt_no}-{call_no}",
    }


def _finish(lease: Lease, call_no: int, outcome: CallOutcome) -> dict[str, Any]:
    return asdict(outcome) | _key(lease, call_no)
