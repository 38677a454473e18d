"""Probes: no-ops unless a test installs a hook; and each name that the code uses is on the list."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import aijobs.actors
import aijobs.engine
import aijobs.models
from aijobs.models import probes
from aijobs.models.probes import COMMITS, POINTS, SENDS, probe, sending
from aijobs.models.transitions import TRANSITIONS

CODE = "\n".join(
    path.read_text(encoding="utf-8")
    for package in (aijobs.models, aijobs.engine, aijobs.actors)
    for path in Path(package.__path__[0]).rglob("*.py")
)


@pytest.fixture
def passed() -> Iterator[list[str]]:
    seen: list[str] = []
    probes.install(seen.append)
    yield seen
    probes.install(None)


def test_a_probe_without_a_hook_does_nothing(passed: list[str]) -> None:
    probes.install(None)
    probe("create.before_commit")
    assert passed == []


def test_a_send_is_probed_on_both_sides_even_when_it_fails(passed: list[str]) -> None:
    def send() -> None:
        with sending("relay_hint"):
            raise OSError("refused")

    with pytest.raises(OSError, match="refused"):
        send()
    assert passed == ["relay_hint.before_send", "relay_hint.after_send"]


def test_every_name_that_the_code_uses_is_on_the_list() -> None:
    commits = set(re.findall(r'(?:transact|autocommit|statement)\(\s*"(\w+)"', CODE))
    assert commits <= set(COMMITS)
    assert set(re.findall(r'sending\(\s*"(\w+)"', CODE)) <= set(SENDS)


def test_every_point_has_another_side() -> None:
    names = {(point.split(".")[0], point.rsplit("_", 1)[1]) for point in POINTS}
    assert len(POINTS) == 2 * len(names)


def test_an_edge_that_is_a_transaction_of_its_own_is_on_the_list() -> None:
    within = {"lock", "expire", "requeue", "give_up", "succeed"}  # a part of another transaction
    assert {edge.name for edge in TRANSITIONS} - within <= set(COMMITS)
