"""Candidates become published rows, unique by content within a knowledge base.

Invariant: rows are inserted in the order of their content_hash, so that two jobs publishing the
same content in opposite order wait for each other once, never in a circle; the unique key decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg2.extras import Json

from aijobs.models import database as db
from aijobs.models.errors import TargetGone
from aijobs.models.tables import AiJob


@dataclass(frozen=True, slots=True)
class Candidate:
    """One item of an output; `columns` are the published row's own columns."""

    id: UUID
    published_id: UUID
    ordinal: int
    content_hash: str
    columns: dict[str, Any]


def lock_target(job: AiJob) -> None:
    """Hold the job's target against deletion until commit. Raises TargetGone."""
    table = _TARGETS.get(job.target_type)
    if table is None:
        return
    found = db.row(f"SELECT id FROM {table} WHERE id = %(id)s FOR KEY SHARE", {"id": job.target_id})
    if found is None:
        raise TargetGone(f"{job.target_type} {job.target_id} was deleted")


def publish_questions(job: AiJob, candidates: Sequence[Candidate]) -> None:
    """Publish quiz questions: new ones become rows, the rest are marked duplicates of theirs."""
    _publish(job, candidates, "quiz_question")


def publish_flashcards(job: AiJob, candidates: Sequence[Candidate]) -> None:
    """Publish flashcards: new ones become rows, the rest are marked duplicates of theirs."""
    _publish(job, candidates, "flashcard")


_TARGETS = {
    "knowledge_base": "knowledge_base",
    "knowledge_point": "knowledge_point",
    "material": "material",
}

_INSERT = {
    "quiz_question": """
INSERT INTO quiz_question
    (id, knowledge_base_id, content_hash, job_id, question, options, answer_index, explanation,
     difficulty, knowledge_point_id)
SELECT (item->>'id')::uuid, %(base)s, item->>'content_hash', %(job_id)s, item->>'question',
       item->'options', (item->>'answer_index')::smallint, item->>'explanation',
       item->>'difficulty', (item->>'knowledge_point_id')::uuid
FROM jsonb_array_elements(%(items)s) WITH ORDINALITY AS list (item, place)
ORDER BY item->>'content_hash', place
ON CONFLICT (knowledge_base_id, content_hash) DO NOTHING
""",
    "flashcard": """
INSERT INTO flashcard
    (id, knowledge_base_id, content_hash, job_id, front, back, tags, knowledge_point_id)
SELECT (item->>'id')::uuid, %(base)s, item->>'content_hash', %(job_id)s, item->>'front',
       item->>'back', coalesce(item->'tags', '[]'), (item->>'knowledge_point_id')::uuid
FROM jsonb_array_elements(%(items)s) WITH ORDINALITY AS list (item, place)
ORDER BY item->>'content_hash', place
ON CONFLICT (knowledge_base_id, content_hash) DO NOTHING
""",
}

# A new statement, so that it sees what a rival committed while the insert waited for it. A
# candidate is published when the row of its content carries its own id.
_CANDIDATES = """
INSERT INTO {table}_candidate
    (id, job_id, knowledge_base_id, ordinal, content, content_hash, state, published_id)
SELECT (item->>'candidate_id')::uuid, %(job_id)s, %(base)s, (item->>'ordinal')::int,
       item->'content', item->>'content_hash',
       CASE WHEN published.id = (item->>'id')::uuid THEN 'published' ELSE 'duplicate' END,
       published.id
FROM jsonb_array_elements(%(items)s) AS item
JOIN {table} published
  ON published.knowledge_base_id = %(base)s AND published.content_hash = item->>'content_hash'
ON CONFLICT (job_id, ordinal) DO NOTHING
"""


def _publish(job: AiJob, candidates: Sequence[Candidate], table: str) -> None:
    items = [
        {
            "id": str(candidate.published_id),
            "candidate_id": str(candidate.id),
            "ordinal": candidate.ordinal,
            "content_hash": candidate.content_hash,
            "content": candidate.columns,
            **candidate.columns,
        }
        for candidate in candidates
    ]
    params = {"items": Json(items), "job_id": job.id, "base": job.target_id}
    db.rows(_INSERT[table], params)
    db.rows(_CANDIDATES.format(table=table), params)
