"""Validated and accepted results, snapshots, artifacts: the documents beside a job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg2.extras import Json

from aijobs.models import database as db
from aijobs.models.columns import one
from aijobs.models.lifecycle import Lease
from aijobs.models.sql import load
from aijobs.models.tables import AiJobArtifact, AiJobInput, AiJobResult


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


def validated_result(job_id: UUID) -> AiJobResult | None:
    """The result that EXECUTE left, if any."""
    return one(AiJobResult, "job_id = %(job_id)s", {"job_id": job_id})


def drop_validated(lease: Lease) -> None:
    """Forget a result that no longer fits, after a fenced statement of the same transaction."""
    db.rows(
        "DELETE FROM ai_job_result WHERE job_id = %(job_id)s AND state = 'validated'",
        {"job_id": lease.job_id},
    )


def accept(lease: Lease, artifacts: Sequence[Artifact]) -> None:
    """Accept the result and reference what it produced, after the fenced succeed."""
    db.rows(
        load("accept_result"),
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


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """A job's frozen input. An expired one is rebuilt before it is served again."""

    content: dict[str, Any]
    content_hash: str
    is_expired: bool


def snapshot_of(job_id: UUID) -> StoredSnapshot | None:
    """The snapshot of a job, unless it is missing."""
    row = db.row(
        "SELECT content, content_hash, expires_at < now() AS is_expired "
        "FROM ai_job_snapshot WHERE job_id = %(job_id)s",
        {"job_id": job_id},
    )
    return None if row is None else StoredSnapshot(**row)


def input_of(job_id: UUID) -> dict[str, Any]:
    """What only the request held; empty when there was nothing."""
    found = AiJobInput.get_or_none(AiJobInput.job_id == job_id)
    return {} if found is None else dict(found.content)


def save_snapshot(lease: Lease, snapshot: dict[str, Any], **columns: Any) -> None:
    """Write a rebuilt snapshot, after a fenced statement of the same transaction.

    `columns`: schema_version, redaction_version, content_hash, hours.
    """
    db.rows(_SNAPSHOT, {"job_id": lease.job_id, "content": Json(snapshot), **columns})


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
