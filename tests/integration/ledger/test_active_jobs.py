"""How many jobs may be under way at once: those that wait for others are not, all others are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from aijobs.engine.refusal import Refused
from tests.world import World


@pytest.fixture
def one_at_a_time(here: World) -> World:
    """The world of a user who may have one job under way."""
    settings = here.engine.settings.model_copy(update={"max_active_jobs": 1})
    return replace(here, engine=replace(here.engine, settings=settings))


def _is_refused(here: World, **body: Any) -> bool:
    try:
        here.create(**body)
    except Refused as refused:
        return refused.code == "TOO_MANY_JOBS"
    return False


def test_a_job_that_waits_for_another_is_not_under_way(one_at_a_time: World) -> None:
    parent = one_at_a_time.create()
    assert not _is_refused(one_at_a_time, after=[str(parent.id)])
    assert not _is_refused(one_at_a_time, after=[str(parent.id)])
    assert _is_refused(one_at_a_time)


def test_a_job_after_one_that_has_ended_is_under_way(one_at_a_time: World) -> None:
    """To name a job that has succeeded is no way round the limit."""
    parent = one_at_a_time.finish(one_at_a_time.create())
    assert parent.lifecycle_status == "succeeded"
    assert not _is_refused(one_at_a_time, after=[str(parent.id)])
    assert _is_refused(one_at_a_time, after=[str(parent.id)])
    assert _is_refused(one_at_a_time)


def test_the_end_of_a_job_makes_room_for_one(one_at_a_time: World) -> None:
    job = one_at_a_time.create()
    assert _is_refused(one_at_a_time)
    one_at_a_time.finish(job)
    assert not _is_refused(one_at_a_time)
