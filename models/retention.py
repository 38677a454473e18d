"""What may be deleted, and how long after (contract: data-model.md, Retention)."""

from __future__ import annotations

from aijobs.models import database as db

BATCH = 1000

_ENDED = (
    "EXISTS (SELECT FROM ai_job job WHERE job.id = doomed.job_id "
    "AND job.finished_at < now() - interval '24 hours')"
)
_CONDITIONS = {
    "ai_job_snapshot": f"doomed.expires_at < now() AND {_ENDED}",
    "ai_job_input": _ENDED,
    "outbox_event": (
        "doomed.status = 'published' AND doomed.published_at < now() - interval '1 day'"
    ),
    "job_transition": f"doomed.at < now() - interval '400 days' AND {_ENDED}",
    "ai_usage_log": f"doomed.started_at < now() - interval '400 days' AND {_ENDED}",
    "ai_job_result": f"doomed.created_at < now() - interval '400 days' AND {_ENDED}",
    "admin_audit": "doomed.at < now() - interval '400 days'",
    "notification": "doomed.created_at < now() - interval '90 days'",
}
KINDS = tuple(_CONDITIONS)


def delete_batch(kind: str) -> int:
    """Delete up to BATCH rows of one kind that are past their time; the number deleted."""
    return len(
        db.rows(
            f"DELETE FROM {kind} WHERE ctid = ANY (ARRAY(SELECT doomed.ctid FROM {kind} doomed "
            f"WHERE {_CONDITIONS[kind]} LIMIT {BATCH})) RETURNING 1"
        )
    )
