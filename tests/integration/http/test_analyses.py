"""The lists of analyses, weak points, recommendations and evaluations, and what narrows them."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from aijobs.models import database as db
from aijobs.models import learner
from aijobs.models.learner import NewPoint
from aijobs.models.tables import KnowledgePoint
from tests.integration.http.caller import Caller, problem
from tests.world import World

ANSWER = "The nucleus holds the genome."
LISTS = {
    "learning_state_analysis": "/analyses",
    "weak_point_analysis": "/weak-points",
    "next_action_planning": "/recommendations",
    "active_recall": "/recall-evaluations",
    "feynman_evaluation": "/recall-evaluations",
}


@pytest.fixture
def other_base(here: World) -> UUID:
    """A second base of the user, with one point."""
    base_id = uuid4()
    learner.add_base(base_id, here.user_id, "The atom")
    learner.add_points(base_id, [NewPoint(uuid4(), "Proton", "The proton is positive.", ())])
    return base_id


def _points(base_id: UUID) -> list[str]:
    query = KnowledgePoint.select(KnowledgePoint.id).where(
        KnowledgePoint.knowledge_base_id == base_id
    )
    return [str(point.id) for point in db.read(lambda: list(query))]


def _done(here: World, job_type: str, target_type: str, target_id: object) -> str:
    body: dict[str, Any] = {"targetType": target_type, "targetId": str(target_id)}
    if LISTS[job_type] == "/recall-evaluations":
        body["answerText"] = ANSWER
    job = here.finish(here.create(job_type, **body))
    assert job.lifecycle_status == "succeeded"
    return str(job.id)


def _jobs(answer: Any) -> set[str]:
    assert answer.status_code == 200, answer.text
    return {item["jobId"] for item in answer.json["items"]}


def test_what_is_about_a_point_of_a_base_is_about_the_base(
    me: Caller, here: World, other_base: UUID
) -> None:
    bases = (here.base_id, other_base)
    path = "/recall-evaluations"
    for job_type in ("active_recall", "feynman_evaluation"):
        points = [_points(base_id)[0] for base_id in bases]
        made = [_done(here, job_type, "knowledge_point", point) for point in points]
        for base_id, point, job in zip(bases, points, made, strict=True):
            assert _jobs(me.get(path, knowledgeBaseId=str(base_id))) & set(made) == {job}
            assert _jobs(me.get(path, targetId=point)) & set(made) == {job}
        both = me.get(path, targetId=points[0], knowledgeBaseId=str(other_base))
        assert both.json["items"] == []


def test_what_is_about_a_material_of_a_base_is_about_the_base(
    me: Caller, here: World, other_base: UUID
) -> None:
    body = {"title": "Lecture", "body": "On cells.", "knowledgeBaseId": str(here.base_id)}
    material = me.post("/materials", body).json["id"]
    of_material = _done(here, "weak_point_analysis", "material", material)
    of_base = _done(here, "weak_point_analysis", "knowledge_base", here.base_id)
    of_other = _done(here, "weak_point_analysis", "knowledge_base", other_base)
    assert _jobs(me.get("/weak-points", knowledgeBaseId=str(here.base_id))) == {
        of_material,
        of_base,
    }
    assert _jobs(me.get("/weak-points", knowledgeBaseId=str(other_base))) == {of_other}
    assert _jobs(me.get("/weak-points", targetId=material)) == {of_material}


@pytest.mark.parametrize("job_type", ["weak_point_analysis", "next_action_planning"])
def test_what_is_about_the_user_and_names_a_point_is_about_its_base(
    me: Caller, here: World, other_base: UUID, job_type: str
) -> None:
    _done(here, job_type, "user", here.user_id)
    path = LISTS[job_type]
    everything = {item["id"] for item in me.pages(path)}
    found = {}
    for base_id in (here.base_id, other_base):
        items = me.pages(path, knowledgeBaseId=str(base_id))
        named = {item["knowledgePointId"] for item in items if "knowledgePointId" in item}
        assert named <= set(_points(base_id))
        found[base_id] = {item["id"] for item in items}
    assert found[here.base_id]
    assert found[here.base_id] | found[other_base] == everything


def test_an_analysis_of_the_user_is_about_all_bases(
    me: Caller, here: World, other_base: UUID
) -> None:
    job = _done(here, "learning_state_analysis", "user", here.user_id)
    for base_id in (here.base_id, other_base):
        assert _jobs(me.get("/analyses", knowledgeBaseId=str(base_id))) == {job}


@pytest.mark.parametrize("path", sorted(set(LISTS.values())))
def test_a_base_of_somebody_else_is_not_found(me: Caller, stranger: Caller, path: str) -> None:
    theirs = stranger.post("/knowledge-bases", {"title": "Theirs"}).json["id"]
    for base_id in (theirs, str(uuid4())):
        assert problem(me.get(path, knowledgeBaseId=base_id)) == (404, "NOT_FOUND", [])
    assert problem(me.get(path, knowledgeBaseId="x"))[0] == 400
