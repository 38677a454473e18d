"""Learner data: bases, points, materials, study records and profiles of one user."""

from __future__ import annotations

import datetime as dt
from typing import Any
from uuid import UUID, uuid4

import pytest

from aijobs.models import database as db
from aijobs.models import learner, materials, profiles, study
from aijobs.models.errors import TargetGone
from aijobs.models.learner import NewPoint
from aijobs.models.materials import NewMaterial
from aijobs.models.paging import Place
from aijobs.models.profiles import NewProfile
from aijobs.models.study import NewRecord
from tests.integration.models.edges import nothing_changes
from tests.integration.models.rivals import beaten, race
from tests.integration.models.states import sql
from tests.world import World, whole_database

NOON = dt.datetime(2026, 11, 1, 12, tzinfo=dt.UTC)


@pytest.fixture
def base_id(here: World) -> UUID:
    """An empty knowledge base of the user."""
    return UUID(str(learner.add_base(uuid4(), here.user_id, "Empty").id))


@pytest.fixture
def stranger() -> UUID:
    """Another user, who owns nothing."""
    return uuid4()


def _points(base_id: UUID) -> list[Any]:
    return db.read(lambda: learner.points(base_id, after=None, limit=100))


def _new(title: str = "A point") -> NewPoint:
    return NewPoint(uuid4(), title, "Its body.", ("tag",))


# Knowledge bases.


def test_a_base_is_its_users(here: World, base_id: UUID, stranger: UUID) -> None:
    assert db.read(lambda: learner.base_of(base_id, here.user_id)) is not None
    assert db.read(lambda: learner.base_of(base_id, stranger)) is None


def test_a_base_that_was_stored_already_stays_as_it_is(here: World, base_id: UUID) -> None:
    with nothing_changes():
        assert learner.add_base(base_id, here.user_id, "Again").title == "Empty"


def test_a_stranger_renames_and_deletes_nothing(base_id: UUID, stranger: UUID) -> None:
    with nothing_changes():
        assert not learner.rename_base(base_id, stranger, "Mine")
        assert not learner.delete_base(base_id, stranger)


def test_a_base_is_renamed_and_deleted_with_all_in_it(here: World, base_id: UUID) -> None:
    learner.add_points(base_id, [_new()])
    assert learner.rename_base(base_id, here.user_id, "Named")
    assert db.read(lambda: learner.base_of(base_id, here.user_id)).title == "Named"  # type: ignore[union-attr]
    assert learner.delete_base(base_id, here.user_id)
    assert not learner.delete_base(base_id, here.user_id)
    assert _points(base_id) == []


def test_bases_are_listed_newest_first_in_pages(here: World, stranger: UUID) -> None:
    user_id = uuid4()
    made = [learner.add_base(uuid4(), user_id, str(number)).id for number in range(3)]
    learner.add_base(uuid4(), stranger, "theirs")

    def page(after: Place | None) -> list[Any]:
        return db.read(lambda: learner.bases(user_id, after=after, limit=2))

    first = page(None)
    second = page((first[-1].created_at, first[-1].id))
    assert [base.id for base in [*first, *second]] == made[::-1]


def test_targets_are_their_owners(here: World, stranger: UUID) -> None:
    point_id = _points(here.base_id)[0].id
    material = materials.add(here.user_id, NewMaterial(uuid4(), "T", "B", here.base_id))
    for kind, key in (
        ("user", here.user_id),
        ("knowledge_base", here.base_id),
        ("knowledge_point", point_id),
        ("material", material.id),
    ):
        assert db.read(lambda kind=kind, key=key: learner.owns(kind, key, here.user_id)), kind  # type: ignore[misc]
        assert not db.read(lambda kind=kind, key=key: learner.owns(kind, key, stranger)), kind  # type: ignore[misc]
    assert not learner.owns("course", here.base_id, here.user_id)


# Points.


def test_points_are_appended_in_order(base_id: UUID) -> None:
    first = learner.add_points(base_id, [_new("a"), _new("b")])
    second = learner.add_points(base_id, [_new("c")])
    assert [(point.title, point.position) for point in [*first, *second]] == [
        ("a", 1),
        ("b", 2),
        ("c", 3),
    ]
    assert first[0].tags == ["tag"]


def test_points_of_a_base_that_is_gone_are_refused(stranger: UUID) -> None:
    with nothing_changes(), pytest.raises(TargetGone):
        learner.add_points(uuid4(), [_new()])


def test_points_that_are_added_at_once_get_places_of_their_own(base_id: UUID) -> None:
    race([lambda: learner.add_points(base_id, [_new(), _new()])] * 8)
    places = sql(
        "SELECT position FROM knowledge_point WHERE knowledge_base_id = %(id)s", id=base_id
    )
    assert sorted(row["position"] for row in places) == list(range(1, 17))


def test_points_that_wait_for_the_end_of_their_base_are_refused(here: World, base_id: UUID) -> None:
    left, outcome = beaten(
        lambda: learner.delete_base(base_id, here.user_id),
        lambda: learner.add_points(base_id, [_new()]),
    )
    assert isinstance(outcome, TargetGone)
    assert whole_database() == left


def test_a_point_is_changed_and_deleted_in_its_own_base_alone(here: World, base_id: UUID) -> None:
    (point,) = learner.add_points(base_id, [_new()])
    changed = NewPoint(point.id, "Changed", "New body.")
    with nothing_changes():
        assert not learner.change_point(here.base_id, changed)
        assert not learner.delete_point(here.base_id, point.id)
    assert db.read(lambda: learner.point_of(here.base_id, point.id)) is None
    assert learner.change_point(base_id, changed)
    now = db.read(lambda: learner.point_of(base_id, point.id))
    assert now is not None
    assert (now.title, now.body, now.tags, now.position) == ("Changed", "New body.", [], 1)
    assert learner.delete_point(base_id, point.id)
    assert not learner.delete_point(base_id, point.id)


# Materials.


def test_a_material_is_its_users(here: World, stranger: UUID) -> None:
    made = materials.add(here.user_id, NewMaterial(uuid4(), "Title", "Body", None))
    assert db.read(lambda: learner.material_of(made.id, here.user_id)) == made
    assert db.read(lambda: learner.material_of(made.id, stranger)) is None
    changed = NewMaterial(made.id, "Other", "Text", None)
    with nothing_changes():
        assert not materials.change(stranger, changed)
        assert not materials.delete(made.id, stranger)
    assert materials.change(here.user_id, changed)
    now = db.read(lambda: learner.material_of(made.id, here.user_id))
    assert now is not None and (now.title, now.body) == ("Other", "Text")
    assert materials.delete(made.id, here.user_id)
    assert not materials.delete(made.id, here.user_id)


def test_a_material_goes_into_ones_own_base_alone(here: World, stranger: UUID) -> None:
    theirs = learner.add_base(uuid4(), stranger, "theirs").id
    mine = materials.add(here.user_id, NewMaterial(uuid4(), "T", "B", here.base_id))
    with nothing_changes():
        with pytest.raises(TargetGone):
            materials.add(here.user_id, NewMaterial(uuid4(), "T", "B", theirs))
        with pytest.raises(TargetGone):
            materials.change(here.user_id, NewMaterial(mine.id, "T", "B", theirs))
    assert materials.change(here.user_id, NewMaterial(mine.id, "T", "B", None))


def test_a_material_that_waits_for_the_end_of_its_base_is_refused(
    here: World, base_id: UUID
) -> None:
    new = NewMaterial(uuid4(), "T", "B", base_id)
    left, outcome = beaten(
        lambda: learner.delete_base(base_id, here.user_id),
        lambda: materials.add(here.user_id, new),
    )
    assert isinstance(outcome, TargetGone)
    assert whole_database() == left


def test_materials_are_listed_newest_first_with_their_length(here: World, base_id: UUID) -> None:
    user_id = uuid4()
    loose = materials.add(user_id, NewMaterial(uuid4(), "loose", "déjà", None))
    own = learner.add_base(uuid4(), user_id, "own").id
    inside = materials.add(user_id, NewMaterial(uuid4(), "inside", "细胞", own))

    def page(base: UUID | None) -> list[tuple[UUID, int]]:
        found: list[Any] = db.read(lambda: materials.page(user_id, base, after=None, limit=10))
        return [(row.id, row.length) for row in found]

    assert page(None) == [(inside.id, 2), (loose.id, 4)]
    assert page(own) == [(inside.id, 2)]
    assert page(base_id) == []


# Study records and what snapshots make of them.


def _record(point_id: UUID, **more: Any) -> NewRecord:
    fields: dict[str, Any] = {
        "id": uuid4(),
        "knowledge_point_id": point_id,
        "activity": "quiz",
        "correct": True,
        "score": None,
        "duration_ms": None,
        "at": NOON,
    }
    return NewRecord(**{**fields, **more})


def test_records_of_anothers_points_are_refused_all_of_them(here: World, stranger: UUID) -> None:
    mine = _points(here.base_id)[0].id
    foreign = learner.add_points(learner.add_base(uuid4(), stranger, "t").id, [_new()])[0].id
    with nothing_changes():
        missing = study.add_records(here.user_id, [_record(mine), _record(foreign)])
    assert missing == {foreign}


def test_records_are_listed_latest_first(here: World) -> None:
    first, second = (point.id for point in _points(here.base_id)[:2])
    old, new = _record(first, at=NOON), _record(second, at=NOON + dt.timedelta(hours=1))
    try:
        assert study.add_records(here.user_id, [old, new]) == set()
        study.add_records(here.user_id, [old])  # a second time is a no-op

        def page(point_id: UUID | None) -> list[UUID]:
            found = db.read(lambda: study.page(here.user_id, point_id, after=None, limit=10))
            return [row.id for row in found]

        assert page(None) == [new.id, old.id]
        assert page(first) == [old.id]
        everybody = db.read(lambda: study.page(uuid4(), None, after=None, limit=10))
        assert everybody == []
    finally:
        sql("DELETE FROM study_record")


def test_statistics_count_what_says_how_it_went(here: World) -> None:
    first, second, third = (point.id for point in _points(here.base_id)[:3])
    records = [
        _record(first, correct=True, duration_ms=1000),
        _record(first, correct=False, duration_ms=3000, at=NOON + dt.timedelta(days=1)),
        _record(first, correct=None, score=0.2),
        _record(second, activity="reading", correct=None, duration_ms=500),
    ]
    try:
        study.add_records(here.user_id, records)
        sources = db.read(lambda: learner.source_points(here.user_id, base_id=here.base_id))
        found = {row["id"]: row for row in sources}
        told = ("attempts", "last_seen", "mean_duration_ms")
        assert [found[first][name] for name in told] == [3, NOON + dt.timedelta(days=1), 2000]
        assert float(found[first]["accuracy"]) == pytest.approx((1 + 0 + 0.2) / 3)
        assert [found[second][name] for name in told] == [0, NOON, 500]
        assert found[second]["accuracy"] is None
        assert [found[third][name] for name in (*told, "accuracy")] == [0, None, None, None]
    finally:
        sql("DELETE FROM study_record")


def test_sources_are_the_users_by_base_and_position(here: World, stranger: UUID) -> None:
    every = db.read(lambda: learner.source_points(here.user_id, base_id=here.base_id))
    assert [row["position"] for row in every] == [1, 2, 3, 4, 5, 6]
    assert db.read(lambda: learner.source_points(stranger, base_id=here.base_id)) == []
    one = db.read(lambda: learner.source_points(here.user_id, point_id=every[2]["id"]))
    assert [row["title"] for row in one] == [every[2]["title"]]


# Profiles.


def test_a_profile_is_written_as_a_whole(here: World) -> None:
    user_id = uuid4()
    assert db.read(lambda: learner.profile_of(user_id)) is None
    profiles.save(user_id, NewProfile("pass", "beginner", "en", {"tone": "brief"}, "Kim"))
    profiles.save(user_id, NewProfile(None, "advanced", "zh-CN", {}, None))
    told = db.read(lambda: learner.profile_of(user_id))
    assert told is not None
    assert (told.goals, told.level, told.locale, told.preferences, told.display_name) == (
        None,
        "advanced",
        "zh-CN",
        {},
        None,
    )
    profiles.forget(user_id)
    assert db.read(lambda: learner.profile_of(user_id)) is None
