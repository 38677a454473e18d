"""What a projector may rely on: it runs in an open transaction whose first statement was fenced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from aijobs.engine.snapshot import Refs
from aijobs.models.publication import Candidate
from aijobs.models.results import Artifact
from aijobs.models.tables import AiJob


@dataclass(frozen=True, slots=True)
class Transaction:
    """The PROJECT transaction: `refs` resolves the snapshot's references."""

    refs: Refs


def candidates(
    tx: Transaction,
    job: AiJob,
    items: list[dict[str, Any]],
    content_hash: Callable[[dict[str, Any]], str],
) -> list[Candidate]:
    """Items of an output as candidates, with the point that each ref stands for.

    Ids follow from the job and the place, so that a second projection makes the same rows.
    """
    return [
        Candidate(
            id=uuid5(job.id, f"candidate:{ordinal}"),
            published_id=uuid5(job.id, f"published:{ordinal}"),
            ordinal=ordinal,
            content_hash=content_hash(item),
            columns=_columns(item, tx.refs),
        )
        for ordinal, item in enumerate(items)
    ]


def artifacts(kind: str, rows: list[Candidate]) -> list[Artifact]:
    """The candidates as artifacts of one kind."""
    return [Artifact(kind, row.id, row.ordinal) for row in rows]


def _columns(item: dict[str, Any], refs: Refs) -> dict[str, Any]:
    point: UUID | None = refs.get(item.get("ref") or "")
    kept = {key: value for key, value in item.items() if key != "ref" and value is not None}
    return kept | ({} if point is None else {"knowledge_point_id": str(point)})
