"""State x state in the code: each edge is taken from the states of the contract's list alone."""

from __future__ import annotations

from uuid import uuid4

import pytest

from aijobs.models.errors import (
    IllegalTransition,
    JobAlreadyTerminal,
    JobLockConflict,
    JobNotFound,
    LeaseLost,
    ModelError,
)
from aijobs.models.lifecycle import Lease
from aijobs.models.transitions import TRANSITIONS, USER_STATUS, is_listed
from tests.integration.models.edges import BY_HOLDER, CONTRACT, EDGES, made, nothing_changes
from tests.integration.models.states import ACTIVE, STATES, TERMINAL, job_in
from tests.world import World


def test_the_list_in_the_code_is_the_contracts() -> None:
    listed = {edge.name: (tuple(sorted(edge.sources)), edge.target) for edge in TRANSITIONS}
    assert listed == {name: (tuple(sorted(a)), b) for name, (a, b) in CONTRACT.items()}
    assert [edge.number for edge in TRANSITIONS] == list(range(1, 15))
    assert {edge.name for edge in TRANSITIONS if edge.by_holder} == set(BY_HOLDER)


@pytest.mark.parametrize("source", STATES)
def test_every_pair_of_states_is_listed_or_not(source: str) -> None:
    for target in STATES:
        listed = any(source in a and target == b for a, b in CONTRACT.values())
        assert is_listed(source, target) == listed, target


def test_every_edge_is_walked() -> None:
    assert {*EDGES, "lock"} == set(CONTRACT)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("edge", EDGES)
def test_an_edge_is_taken_or_refused(here: World, edge: str, state: str) -> None:
    sources, target = CONTRACT[edge]
    if state in sources:
        lease = made(here, edge, state)
        EDGES[edge](here, lease)
        assert here.job(lease.job_id).lifecycle_status == target
        return
    lease = job_in(here, state)
    with nothing_changes():
        if (error := refusal(edge, state)) is None:
            assert EDGES[edge](here, lease) is None
        else:
            with pytest.raises(error) as refused:
                EDGES[edge](here, lease)
            assert refused.type is error


@pytest.mark.parametrize("edge", sorted(set(EDGES) - {"create", "claim"}))
def test_an_edge_of_no_job_says_so(here: World, edge: str) -> None:
    missing = Lease(uuid4(), 1, here.engine.holder)
    with nothing_changes(), pytest.raises(JobNotFound) as refused:
        EDGES[edge](here, missing)
    assert refused.value.job_id == missing.job_id


@pytest.mark.parametrize("state", STATES)
def test_a_state_has_its_words_for_users_and_old_readers(here: World, state: str) -> None:
    job = here.job(job_in(here, state).job_id)
    assert (job.status, USER_STATUS[state]) == {
        "queued": ("pending", "queued"),
        "locked": ("processing", "running"),
        "running": ("processing", "running"),
        "succeeded": ("completed", "succeeded"),
        "failed": ("failed", "failed"),
        "cancelled": ("cancelled", "cancelled"),
        "expired": ("pending", "queued"),
    }[state]


def refusal(edge: str, state: str) -> type[ModelError] | None:
    """How an edge is refused in a state that it does not lead from; None: it finds no job."""
    if edge in ("create", "claim"):
        return None
    if edge in BY_HOLDER:
        return IllegalTransition if state in ACTIVE else LeaseLost
    if state in TERMINAL:
        return JobAlreadyTerminal
    return JobLockConflict if state in ACTIVE else IllegalTransition
