"""What jobs produced, read again by artifact and by user."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from aijobs.models import analyses, produced
from aijobs.models import database as db
from aijobs.models.analyses import About
from aijobs.models.results import Artifact, artifacts_of
from aijobs.models.tables import (
    AiLearningAnalysis,
    NextActionRecommendation,
    RecallEvaluation,
    WeakPointCandidate,
)
from tests.integration.models.states import created, sql
from tests.world import World

ROWS: dict[str, tuple[analyses.Analysis, dict[str, Any]]] = {
    "ai_learning_analysis": (
        AiLearningAnalysis,
        {"summary": "Fine.", "mastery": [{"topic": "cell", "score": 0.5}], "confidence": 0.25},
    ),
    "weak_point_candidate": (
        WeakPointCandidate,
        {"topic": "Vacuole", "severity": "high", "evidence": "2 of 5"},
    ),
    "next_action_recommendation": (
        NextActionRecommendation,
        {"title": "Read", "priority": "low", "minutes": 10, "reason": "Because."},
    ),
    "recall_evaluation": (
        RecallEvaluation,
        {"kind": "active_recall", "score": 0.75, "missing": ["ATP"], "feedback": "Good."},
    ),
}


def _add(here: World, table: str, count: int = 2) -> tuple[Any, list[UUID]]:
    job = created(here)
    ids = [uuid4() for _ in range(count)]
    items = [{"id": str(key), **ROWS[table][1]} for key in ids]
    db.transact("project", lambda: analyses.add_rows(table, job, items))
    return job, ids


@pytest.mark.parametrize("table", ROWS)
def test_a_row_is_read_again_as_it_was_written(here: World, table: str) -> None:
    job, ids = _add(here, table)
    found = db.read(lambda: produced.rows_of([Artifact(table, ids[0], 0)]))
    assert set(found) == {ids[0]}
    told = ROWS[table][1]
    assert {name: found[ids[0]][name] for name in told} == told
    stored = sql(f"SELECT id, job_id, user_id, ordinal FROM {table} ORDER BY ordinal")
    assert [(row["id"], row["ordinal"]) for row in stored] == [(ids[0], 0), (ids[1], 1)]
    assert {(row["job_id"], row["user_id"]) for row in stored} == {(job.id, here.user_id)}


@pytest.mark.parametrize("table", ROWS)
def test_rows_that_are_there_already_stay(here: World, table: str) -> None:
    job, ids = _add(here, table)
    before = sql(f"SELECT * FROM {table}")
    again = [{"id": str(key), **ROWS[table][1]} for key in (*ids, uuid4())]
    db.transact("project", lambda: analyses.add_rows(table, job, again[:2]))
    others = [{"id": str(uuid4()), **ROWS[table][1]}]  # another id, the same place
    db.transact("project", lambda: analyses.add_rows(table, job, others))
    assert sql(f"SELECT * FROM {table}") == before


@pytest.mark.parametrize("table", ROWS)
def test_a_user_reads_their_own_newest_first(here: World, table: str) -> None:
    model = ROWS[table][0]
    _, old = _add(here, table, 1)
    _, new = _add(here, table, 1)

    def page(user_id: UUID, target_id: UUID | None) -> list[UUID]:
        found = db.read(
            lambda: analyses.page(model, About(user_id, target_id), after=None, limit=10)
        )
        return [row.id for row in found]

    assert page(here.user_id, None) == [*new, *old]
    assert page(here.user_id, here.base_id) == [*new, *old]
    assert page(here.user_id, uuid4()) == []
    assert page(uuid4(), None) == []


def test_candidates_are_shown_with_what_became_of_them(here: World) -> None:
    first = here.finish(here.create())
    second = here.finish(here.create())
    shown = []
    for job in (first, second):
        artifacts = db.read(lambda job=job: artifacts_of([job.id]))[job.id]  # type: ignore[misc]
        rows = db.read(lambda artifacts=artifacts: produced.rows_of(artifacts))  # type: ignore[misc]
        shown.append([rows[artifact.artifact_id] for artifact in artifacts])
    assert {row["state"] for row in shown[0]} == {"published"}
    assert {row["state"] for row in shown[1]} == {"duplicate"}
    assert [row["published_id"] for row in shown[1]] == [row["published_id"] for row in shown[0]]
    assert [row["question"] for row in shown[1]] == [row["question"] for row in shown[0]]


def test_a_candidate_that_was_never_published_points_nowhere(here: World) -> None:
    here.finish(here.create())
    candidate = sql("SELECT id FROM quiz_question_candidate LIMIT 1")[0]["id"]
    sql("UPDATE quiz_question_candidate SET state = 'candidate', published_id = NULL")
    artifact = Artifact("quiz_question_candidate", candidate, 0)
    row = db.read(lambda: produced.rows_of([artifact]))[candidate]
    assert (row["state"], row["published_id"]) == ("candidate", None)


def test_nothing_is_found_of_nothing() -> None:
    assert produced.rows_of([]) == {}
