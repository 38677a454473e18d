"""SIGKILL at every probe: whatever dies, and wherever, the job ends as if nothing had happened."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from aijobs.models.probes import COMMITS, POINTS, SENDS
from tests.acceptance.probed.cases import CASES, LEFT_OUT, Case
from tests.acceptance.probed.scene import Scene, scene_of
from tests.acceptance.probed.verdict import check_calls, check_end


@pytest.fixture
def scene(database_url: str, redis_url: str, tmp_path: Path) -> Iterator[Scene]:
    with scene_of(database_url, redis_url, tmp_path) as made:
        yield made


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_job_survives_a_kill_at(case: Case, scene: Scene) -> None:
    job_id = case.play(scene, case.orders)
    scene.children[-1].kill()  # nobody works on while the end is looked at
    check_end(scene, job_id, case.end)
    check_calls(scene, job_id, case.calls, unsent=case.unsent)


def test_every_probe_has_a_case_or_a_reason() -> None:
    assert set(LEFT_OUT) <= {*COMMITS, *SENDS}
    left_out = {point for point in POINTS if point.split(".")[0] in LEFT_OUT}
    assert {case.point for case in CASES} == POINTS - left_out
