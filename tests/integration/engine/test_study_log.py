"""From study records to an analysis: what counts as an attempt, and which refs it may use."""

from __future__ import annotations

import datetime as dt
from typing import Any
from uuid import uuid4

import pytest

from aijobs.models import database as db
from aijobs.models import materials, study
from aijobs.models.materials import NewMaterial
from aijobs.models.study import NewRecord
from aijobs.models.tables import AiJobResult, KnowledgePoint
from tests.integration.engine.wire import attempt
from tests.scripted_provider import ScriptedProvider
from tests.world import World

AT = dt.datetime(2026, 5, 1, 8, tzinfo=dt.UTC)


def output(here: World, job_type: str, kind: str, target: Any) -> dict[str, Any]:
    job = attempt(here, here.create(job_type, targetType=kind, targetId=str(target)))
    assert (job.lifecycle_status, job.internal_error_message) == ("succeeded", None)
    found: dict[str, Any] = db.read(lambda: AiJobResult.get(AiJobResult.job_id == job.id)).output
    return found


def test_mastery_is_the_mean_of_scores_and_right_answers(here: World) -> None:
    """Nucleus: 1, 0.5 and a wrong answer: 0.5. Ribosome: a score, not the tick beside it."""
    points = {p.title: p.id for p in db.read(lambda: list(KnowledgePoint.select()))}
    log = [
        ("Nucleus", "quiz", True, None),
        ("Nucleus", "recall", None, 0.5),
        ("Nucleus", "flashcard", False, None),
        ("Nucleus", "reading", None, None),
        ("Ribosome", "recall", True, 0.25),
        ("Vacuole", "reading", None, None),
    ]
    records = [
        NewRecord(uuid4(), points[title], activity, correct, score, 30_000, AT)
        for title, activity, correct, score in log
    ]
    assert study.add_records(here.user_id, records) == set()
    state = output(here, "learning_state_analysis", "user", here.user_id)
    assert [(row["topic"], row["score"]) for row in state["mastery"]] == [
        ("Ribosome", 0.25),
        ("Nucleus", 0.5),
    ]
    assert state["confidence"] == 0.4  # 3 + 1 of 2 x 5 attempts
    assert state["summary"].startswith("2 of 6 points have been tested, in 4 attempts. 44 %")


@pytest.mark.parametrize("in_a_base", [True, False])
def test_weak_points_of_a_material_that_nobody_has_studied(here: World, in_a_base: bool) -> None:
    material_id = _material(here, in_a_base)
    found = output(here, "weak_point_analysis", "material", material_id)
    assert [(point["topic"], point["ref"]) for point in found["weak_points"]] == [
        ("Chapter 1", "k1")
    ]


def test_a_model_may_refer_to_the_material_itself(wired: World, server: ScriptedProvider) -> None:
    """It was given as an item with a ref; the stored row then names no point."""
    found = output(wired, "weak_point_analysis", "material", _material(wired, True))
    assert found["weak_points"][0]["ref"] == "k1"
    assert len(server.calls) == 1


def _material(here: World, in_a_base: bool) -> Any:
    base_id = here.base_id if in_a_base else None
    body = "A cell is small. It has a wall."
    new = NewMaterial(id=uuid4(), knowledge_base_id=base_id, title="Chapter 1", body=body)
    return materials.add(here.user_id, new).id
