"""Snapshots: numbered items, statistics and parameters of one target, within a budget."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from pydantic import BaseModel

from aijobs.engine.answer import output_hash
from aijobs.engine.definition import JobDefinition
from aijobs.engine.errors import SnapshotFault
from aijobs.engine.snapshot import (
    PointsNotFound,
    Snapshot,
    Source,
    build,
    has_answer,
    is_point,
    refs_of,
)
from aijobs.models import database as db
from aijobs.models import learner, materials, profiles, study
from aijobs.models.learner import NewPoint
from aijobs.models.materials import NewMaterial
from aijobs.models.profiles import NewProfile
from aijobs.models.study import NewRecord
from tests.integration.engine.seen import rows
from tests.world import POINTS, World

LARGE = 1_000_000


def _definition(here: World, job_type: str = "quiz_generation") -> JobDefinition:
    return here.engine.registry.get(job_type)


def _build(
    here: World, source: Source, job_type: str = "quiz_generation", budget: int = LARGE, **more: Any
) -> Snapshot:
    definition = _definition(here, job_type)
    params: BaseModel = definition.parameters.model_validate(more)
    return db.read(lambda: build(definition, source, params, budget_bytes=budget))


def _base(here: World) -> Source:
    return Source(here.user_id, "knowledge_base", here.base_id)


def _point_ids(here: World) -> list[UUID]:
    """By position."""
    found = rows(
        "SELECT id FROM knowledge_point WHERE knowledge_base_id = %(id)s ORDER BY position",
        id=here.base_id,
    )
    return [row["id"] for row in found]


def _days_ago(days: float) -> dt.datetime:
    return dt.datetime.now(dt.UTC) - dt.timedelta(days=days)


def _record(point_id: UUID, days_ago: float, correct: bool | None, **more: Any) -> NewRecord:
    return NewRecord(
        id=uuid4(),
        knowledge_point_id=point_id,
        activity="quiz",
        correct=correct,
        score=more.get("score"),
        duration_ms=more.get("duration_ms"),
        at=_days_ago(days_ago),
    )


def _titles(snapshot: Snapshot) -> list[str]:
    return [item["title"] for item in snapshot.content["items"]]


def test_a_knowledge_base_is_numbered_by_position(here: World) -> None:
    ids = _point_ids(here)
    content = _build(here, _base(here), questionCount=3).content
    assert content["target"] == {
        "type": "knowledge_base",
        "id": str(here.base_id),
        "title": "The cell",
    }
    assert content["items"] == [
        {"ref": f"k{n}", "id": str(ids[n - 1]), "title": title, "body": body, "tags": ["cell"]}
        for n, (title, body) in enumerate(POINTS, 1)
    ]
    assert content["statistics"] == [
        {
            "ref": f"k{n}",
            "attempts": 0,
            "accuracy": None,
            "last_seen": None,
            "mean_duration_ms": None,
        }
        for n in range(1, 7)
    ]
    assert content["profile"] == {"goals": None, "level": None, "locale": None, "preferences": {}}
    assert (content["parameters"], content["answer_text"]) == ({"questionCount": 3}, None)
    assert content["cuts"] == []


def test_equal_data_gives_equal_snapshots_and_a_hash_of_all_of_it(here: World) -> None:
    first, second = _build(here, _base(here)), _build(here, _base(here))
    assert first == second
    assert first.content_hash == output_hash(first.content)
    other = _build(here, _base(here), questionCount=6)
    assert other.content_hash != first.content_hash


def test_statistics_are_the_users_own(here: World) -> None:
    point = _point_ids(here)[0]
    study.add_records(
        here.user_id,
        [
            _record(point, 3, True, duration_ms=1000),
            _record(point, 2, False, duration_ms=2001),
            _record(point, 1, None, score=0.25),
        ],
    )
    rows(
        "INSERT INTO study_record (id, user_id, knowledge_point_id, activity, correct) "
        "VALUES (%(id)s, %(id)s, %(point)s, 'quiz', true)",
        id=uuid4(),
        point=point,
    )
    told = _build(here, _base(here)).content["statistics"][0]
    assert (told["attempts"], told["accuracy"], told["mean_duration_ms"]) == (3, 0.4167, 1500.5)
    seen = dt.datetime.fromisoformat(told["last_seen"])
    assert abs((seen - _days_ago(1)).total_seconds()) < 60
    assert told["last_seen"].endswith("+00:00")


def test_chosen_points_keep_the_order_of_the_base(here: World) -> None:
    ids = _point_ids(here)
    snapshot = _build(here, _base(here), pointIds=[str(ids[4]), str(ids[1]), str(ids[4])])
    assert _titles(snapshot) == [POINTS[1][0], POINTS[4][0]]
    assert refs_of(snapshot.content) == {"k1": ids[1], "k2": ids[4]}


def test_chosen_points_that_are_not_in_the_target_are_named(here: World) -> None:
    strange = uuid4()
    with pytest.raises(PointsNotFound) as refused:
        _build(here, _base(here), pointIds=[str(_point_ids(here)[0]), str(strange)])
    assert refused.value.missing == [strange]


def test_the_budget_drops_what_needs_no_study_first(here: World) -> None:
    """Recency x error rate: just seen and known goes first, never seen stays."""
    ids = _point_ids(here)
    study.add_records(
        here.user_id,
        [
            _record(ids[0], 1, True),  # 1 day x 0 wrong
            _record(ids[1], 10, False),  # 10 days x 1 wrong
            _record(ids[2], 100, True),  # 100 days x 0 wrong
            _record(ids[3], 2, False),  # 2 days x 1 wrong
        ],
    )
    sizes = [len(title.encode()) + len(body.encode()) for title, body in POINTS]
    dropped = [2, 0, 3, 1, 5, 4]  # ties by position: the later goes first
    for count in range(6):
        budget = sum(sizes) - sum(sizes[place] for place in dropped[:count])
        snapshot = _build(here, _base(here), budget=budget)
        gone = sorted(dropped[:count])
        assert _titles(snapshot) == [POINTS[n][0] for n in range(6) if n not in gone]
        assert snapshot.content["cuts"] == [
            {"id": str(ids[n]), "title": POINTS[n][0]} for n in gone
        ]
        assert [item["ref"] for item in snapshot.content["items"]] == [
            f"k{n}" for n in range(1, 7 - count)
        ]
        assert len(snapshot.content["statistics"]) == 6 - count


def test_the_last_item_stays_whatever_the_budget(here: World) -> None:
    assert len(_build(here, _base(here), budget=1).content["items"]) == 1


def test_a_user_is_all_knowledge_bases_in_their_order(here: World) -> None:
    second, strange = uuid4(), uuid4()
    learner.add_base(second, here.user_id, "Later")
    learner.add_points(second, [NewPoint(uuid4(), "Late", "b")])
    learner.add_base(strange, uuid4(), "Theirs")
    learner.add_points(strange, [NewPoint(uuid4(), "Theirs", "b")])
    source = Source(here.user_id, "user", here.user_id)
    snapshot = _build(here, source, "learning_state_analysis")
    assert _titles(snapshot) == [*(title for title, _ in POINTS), "Late"]
    assert snapshot.content["target"]["title"] == "all knowledge bases"


def test_a_point_is_its_own_target(here: World) -> None:
    point = _point_ids(here)[2]
    source = Source(here.user_id, "knowledge_point", point)
    snapshot = _build(here, source, "active_recall", answerText="Water.")
    assert _titles(snapshot) == ["Vacuole"]
    assert snapshot.content["target"]["title"] == "Vacuole"
    assert snapshot.content["answer_text"] == "Water."


def test_a_material_comes_before_the_points_of_its_base(here: World) -> None:
    material = NewMaterial(uuid4(), "Chapter", "字" * 100, here.base_id)
    alone = NewMaterial(uuid4(), "Alone", "text", None)
    for new in (material, alone):
        materials.add(here.user_id, new)
    source = Source(here.user_id, "material", material.id)
    content = _build(here, source, "weak_point_analysis").content
    first, *rest = content["items"]
    assert (first["ref"], first["kind"], first["body"]) == ("k1", "material", "字" * 100)
    assert len(rest) == 6
    assert not is_point(first) and all(map(is_point, rest))
    assert [told["ref"] for told in content["statistics"]] == [f"k{n}" for n in range(2, 8)]
    assert "k1" not in refs_of(content)
    short = _build(here, source, "weak_point_analysis", budget=100).content
    assert short["items"][0]["body"] == "字" * 16, "half of the budget, no half character"
    lonely = _build(here, replace(source, target_id=alone.id), "weak_point_analysis").content
    assert [item["title"] for item in lonely["items"]] == ["Alone"]


def test_the_profile_goes_in_without_a_name(here: World) -> None:
    told: dict[str, Any] = {"goals": "g", "level": "l", "locale": "zh-CN", "preferences": {"a": 1}}
    profiles.save(here.user_id, NewProfile(**told, display_name="Li Wei"))
    point = Source(here.user_id, "knowledge_point", _point_ids(here)[0])
    text = "I am LI WEI, write to li.wei@mail.example. LiWei is no name."
    content = _build(here, point, "active_recall", answerText=text).content
    assert content["profile"] == told
    assert content["answer_text"] == "I am [name], write to [mail]. LiWei is no name."
    assert content["parameters"]["answerText"] == content["answer_text"]
    assert "Li Wei" not in str(content)


@pytest.mark.parametrize("kind", ["knowledge_base", "knowledge_point", "material", "user"])
@pytest.mark.parametrize("whose", ["another's", "nobody's"])
def test_a_target_that_is_not_the_users_is_gone(here: World, kind: str, whose: str) -> None:
    material = NewMaterial(uuid4(), "m", "b", None)
    materials.add(here.user_id, material)
    ids = {
        "knowledge_base": here.base_id,
        "knowledge_point": _point_ids(here)[0],
        "material": material.id,
        "user": here.user_id,
    }
    target = ids[kind] if whose == "another's" else uuid4()
    with pytest.raises(SnapshotFault) as refused:
        _build(here, Source(uuid4(), kind, target), "weak_point_analysis")
    assert refused.value.code == "INVALID_SNAPSHOT"


def test_a_target_with_nothing_in_it_cannot_be_worked_on(here: World) -> None:
    empty = uuid4()
    learner.add_base(empty, here.user_id, "Empty")
    for source in (
        Source(here.user_id, "knowledge_base", empty),
        Source(empty, "user", empty),
    ):
        with pytest.raises(SnapshotFault, match="nothing to work on"):
            _build(here, source, "learning_state_analysis")


def test_which_types_bring_an_answer(here: World) -> None:
    with_answer = {d.job_type for d in here.engine.registry if has_answer(d)}
    assert with_answer == {"active_recall", "feynman_evaluation"}
