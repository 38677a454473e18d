"""The journal of provider calls: what was asked, what came back, what it cost.

Invariant: a row is committed before its call begins, so that no call is ever unknown to the books;
a `completed` row is an answer that is never asked for again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg2.extras import Json

from aijobs.models import circuit, ledger
from aijobs.models import database as db
from aijobs.models.circuit import CircuitRules, Recorded, recorded
from aijobs.models.columns import columns_of
from aijobs.models.ledger import Budget
from aijobs.models.lifecycle import Lease
from aijobs.models.lifecycle.edge import Patience
from aijobs.models.lifecycle.holding import checkpoint_params, lost
from aijobs.models.results import Validated
from aijobs.models.sql import load
from aijobs.models.tables import AiUsageLog

_BUDGET = Budget()
_RULES = CircuitRules()


@dataclass(frozen=True, slots=True)
class NewCall:
    """A call about to be made. The bounds stand in for the real tokens until those are known."""

    id: UUID
    tier: str
    provider: str
    model: str
    prompt_key: str
    prompt_version: str
    request_hash: str
    input_bound: int
    output_bound: int
    cost_bound: int = 0


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """How a call ended. Unknown token counts are None: then the row keeps its bounds, estimated.

    `verdict` is what the call says of its route: success, failure, fault or overrun
    (migrations/0003_circuit.sql); None says nothing.
    """

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
    verdict: str | None = None


_NO_CALL = CallOutcome(state="completed", latency_ms=0)


def answer_of(job_id: UUID, request_hash: str) -> str | None:
    """The raw answer of a completed call with this request, whichever attempt made it."""
    row = db.row(
        "SELECT raw_response FROM ai_usage_log WHERE job_id = %(job_id)s "
        "AND request_hash = %(request_hash)s AND state = 'completed' AND raw_response IS NOT NULL "
        "ORDER BY call_no LIMIT 1",
        {"job_id": job_id, "request_hash": request_hash},
    )
    return None if row is None else str(row["raw_response"])


def refused_calls(job_id: UUID) -> tuple[int, str | None]:
    """How many calls were refused for the account or key, and the last other one's error."""
    row = db.row(
        "SELECT count(*) FILTER (WHERE error_code IN ('PROVIDER_ACCOUNT', 'CREDENTIAL_INVALID')) "
        "AS refused, (array_agg(error_code ORDER BY call_no DESC) FILTER (WHERE error_code "
        "NOT IN ('PROVIDER_ACCOUNT', 'CREDENTIAL_INVALID')))[1] AS last "
        "FROM ai_usage_log WHERE job_id = %(job_id)s",
        {"job_id": job_id},
    )
    return (0, None) if row is None else (int(row["refused"]), row["last"])


def start_call(
    lease: Lease,
    call: NewCall,
    *,
    lease_seconds: float,
    patient: Patience,
    budget: Budget = _BUDGET,
) -> int:
    """Commit that a call begins, fenced and reserved; returns its call_no.

    Raises LeaseLost, NoRoom and CircuitRefuses; then nothing was written.

    A row that a commit of unknown outcome left is found by its id, so that it stays one row a call.
    """
    params = checkpoint_params(
        lease,
        stage="EXECUTE",
        progress=30,
        lease_seconds=lease_seconds,
        calls=1,
        model=(call.provider, call.model),
    )
    params |= columns_of(call) | budget.params() | {"call_uuid": call.id}
    tries = 0

    def work() -> int:
        nonlocal tries
        tries += 1
        if tries > 1 and (known := db.row(_STARTED, params)) is not None:
            return int(known["call_no"])
        found = db.row(load("call_start"), params)
        if found is None:
            raise lost(lease)
        return int(found["call_count"])

    with ledger.refusals(), circuit.refusals():
        return db.autocommit("call_started", work, patient=patient)


def finish_call(
    lease: Lease,
    call_no: int,
    outcome: CallOutcome,
    *,
    patient: Patience,
    rules: CircuitRules = _RULES,
) -> Recorded:
    """Complete an attempt's own row, lease or not: the one write that is not fenced.

    Returns what became of the circuit of its route; after a commit whose answer was lost, as it is
    then.
    """
    params = _finish_params(lease, call_no, outcome, rules)
    tries = 0

    def work() -> db.Row | None:
        nonlocal tries
        tries += 1
        found = db.row(load("call_finish"), params)
        return db.row(_CIRCUIT_OF, params) if found is None and tries > 1 else found

    return recorded(db.autocommit("call_finished", work, patient=patient))


def finish_with_result(
    lease: Lease,
    call: tuple[int, CallOutcome] | None,
    validated: Validated,
    *,
    lease_seconds: float,
    patient: Patience,
    rules: CircuitRules = _RULES,
) -> Recorded:
    """EXECUTE's checkpoint: the validated result, fenced, with the call that brought it.

    `call` is (call_no, outcome), or None when an earlier attempt's answer is reused. Raises
    LeaseLost: then not even the call is written, and the caller completes it with `finish_call`.
    """
    call_no, outcome = call or (None, _NO_CALL)
    params = _finish_params(lease, call_no, outcome, rules)
    params |= checkpoint_params(
        lease,
        stage="EXECUTE",
        progress=70,
        lease_seconds=lease_seconds,
        output_hash=validated.output_hash,
    )
    params |= columns_of(validated) | {"output": Json(validated.output)}
    found = db.statement("execute", load("execute_done"), params, patient=patient)
    if not found:
        raise lost(lease)
    return recorded(found[0])


def calls_of(job_id: UUID) -> list[AiUsageLog]:
    """All calls of a job, in order."""
    return list(AiUsageLog.select().where(AiUsageLog.job_id == job_id).order_by(AiUsageLog.call_no))


# Fenced as well: whoever lost the lease with the answer must not call.
_STARTED = """
SELECT usage.call_no FROM ai_usage_log usage JOIN ai_job job ON job.id = usage.job_id
WHERE usage.id = %(call_uuid)s AND job.attempt_no = %(attempt_no)s AND job.locked_by = %(holder)s
"""

_CIRCUIT_OF = """
SELECT circuit.state, false AS changed
FROM ai_usage_log usage JOIN platform_circuit circuit USING (provider, model)
WHERE usage.job_id = %(job_id)s AND usage.call_id = %(call_id)s AND usage.circuit_epoch IS NOT NULL
"""


def _finish_params(
    lease: Lease, call_no: int | None, outcome: CallOutcome, rules: CircuitRules
) -> dict[str, Any]:
    return columns_of(outcome) | {
        "circuit_failures": rules.failures,
        "circuit_open_seconds": rules.open_seconds,
        "holder": lease.holder,
        "job_id": lease.job_id,
        "attempt_no": lease.attempt_no,
        "call_id": None if call_no is None else f"{lease.attempt_no}-{call_no}",
    }
