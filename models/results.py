"""Validated and accepted results, snapshots, artifacts: the documents beside a job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg2.extras import Json

from aijobs.models import database as db
from aijobs.models.lifecycle import Lease
from aijobs.models.tables import AiJobArtifact, AiJobInput, AiJobResult, AiJobSnapshot


@dataclass(frozen=True, slots=True)
class Validated:
    """An output that passed every check, with the hash of the snapshot it was checked against."""

    output: dict[str, Any]
    output_hash: str
    snapshot_hash: str
    requested_count: int | None = None
    delivered_count: int | None = None


@dataclass(frozen=True, slots=True)
class Artifact:
    """A business row that a job produced."""

    artifact_type: str
    artifact_id: UUID
    ordinal: int


def save_validated(lease: Lease, validated: Validated) -> None:
    """Keep a validated result, after a fenced statement of the same transaction."""
    db.rows(
        _SAVE,
        {
            "job_id": lease.job_id,
            "attempt_no": lease.attempt_no,
            "output": Json(validated.output),
            "output_hash": validated.output_hash,
            "snapshot_hash": validated.snapshot_hash,
            "result_key": f"{lease.job_id}:{lease.attempt_no}:{validated.output_hash}",
            "submitted_by": lease.holder,
            "requested_count": validated.requested_count,
            "delivered_count": validated.delivered_count,
        },
    )


def validated_result(job_id: UUID) -> AiJobResult | None:
    """The result that EXECUTE left, if any."""
    return AiJobResult.get_or_none(AiJobResult.job_id == job_id)


def accept(lease: Lease) -> None:
    """Mark the result accepted, after the fenced succeed of the same transaction."""
    db.rows(
        "UPDATE ai_job_result SET state = 'accepted' WHERE job_id = %(job_id)s",
        {"job_id": lease.job_id},
    )


def drop_validated(lease: Lease) -> None:
    """Forget a result that no longer fits, after a fenced statement of the same transaction."""
    db.rows(
        "DELETE FROM ai_job_result WHERE job_id = %(job_id)s AND state = 'validated'",
        {"job_id": lease.job_id},
    )


def add_artifacts(lease: Lease, artifacts: Sequence[Artifact]) -> None:
    """Reference what was produced; what is referenced already stays as it is."""
    db.rows(
        _ARTIFACTS,
        {
            "job_id": lease.job_id,
            "attempt_no": lease.attempt_no,
            "types": [artifact.artifact_type for artifact in artifacts],
            "ids": [artifact.artifact_id for artifact in artifacts],
            "ordinals": [artifact.ordinal for artifact in artifacts],
        },
    )


def artifacts_of(job_ids: Sequence[UUID]) -> dict[UUID, list[Artifact]]:
    """The artifacts of each job, in the order of its output."""
    found = (
        AiJobArtifact.select()
        .where(AiJobArtifact.job_id << list(job_ids))
        .order_by(AiJobArtifact.job_id, AiJobArtifact.artifact_type, AiJobArtifact.ordinal)
    )
    grouped: dict[UUID, list[Artifact]] = {}
    for row in found:
        artifact = Artifact(row.artifact_type, row.artifact_id, row.ordinal)
        grouped.setdefault(row.job_id, []).append(artifact)
    return grouped


def snapshot_of(job_id: UUID) -> AiJobSnapshot | None:
    """The snapshot of a job, unless it is missing."""
    return AiJobSnapshot.get_or_none(AiJobSnapshot.job_id == job_id)


def input_of(job_id: UUID) -> dict[str, Any]:
    """What only the request held; empty when there was nothing."""
    found = AiJobInput.get_or_none(AiJobInput.job_id == job_id)
    return {} if found is None else dict(found.content)


def save_snapshot(lease: Lease, snapshot: dict[str, Any], **columns: Any) -> None:
    """Write a rebuilt snapshot, after a fenced statement of the same transaction.

    `columns`: schema_version, redaction_version, content_hash, hours.
    """
    db.rows(_SNAPSHOT, {"job_id": lease.job_id, "content": Json(snapshot), **columns})


_SAVE = """
INSERT INTO ai_job_result
    (job_id, attempt_no, state, output, output_hash, snapshot_hash, result_key, submitted_by,
     requested_count, delivered_count)
VALUES
    (%(job_id)s, %(attempt_no)s, 'validated', %(output)s, %(output_hash)s, %(snapshot_hash)s,
     %(result_key)s, %(submitted_by)s, %(requested_count)s, %(delivered_count)s)
ON CONFLICT (job_id) DO UPDATE
SET attempt_no = excluded.attempt_no, output = excluded.output, output_hash = excluded.output_hash,
    snapshot_hash = excluded.snapshot_hash, result_key = excluded.result_key,
    submitted_by = excluded.submitted_by, requested_count = excluded.requested_count,
    delivered_count = excluded.delivered_count
WHERE ai_job_result.state = 'validated'
"""

_ARTIFACTS = """
INSERT INTO ai_job_artifact (job_id, artifact_type, artifact_id, ordinal, attempt_no)
SELECT %(job_id)s, new.artifact_type, new.artifact_id, new.ordinal, %(attempt_no)s
FROM unnest(%(types)s::text[], %(ids)s::uuid[], %(ordinals)s::int[])
     AS new (artifact_type, artifact_id, ordinal)
ON CONFLICT DO NOTHING
"""

_SNAPSHOT = """
INSERT INTO ai_job_snapshot
    (job_id, schema_version, redaction_version, content, content_hash, expires_at)
VALUES
    (%(job_id)s, %(schema_version)s, %(redaction_version)s, %(content)s, %(content_hash)s,
     now() + %(hours)s * interval '1 hour')
ON CONFLICT (job_id) DO UPDATE
SET schema_version = excluded.schema_version, redaction_version = excluded.redaction_version,
    content = excluded.content, content_hash = excluded.content_hash,
    expires_at = excluded.expires_at, created_at = now()
"""
