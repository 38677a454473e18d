"""The contract's list of transitions, and every edge of it as a call on the job of a lease."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from aijobs.models import database as db
from aijobs.models.lifecycle import (
    Failure,
    Lease,
    begin,
    cancel,
    confirm_cancel,
    create,
    expire,
    fail,
    give_up,
    hand_back,
    reject,
    release_for_retry,
    request_cancel,
    requeue,
    succeed,
)
from aijobs.models.tables import AiJob
from tests.integration.models.states import ACTIVE, FAILURE, claimed, hasty, job_in, new_job, sql
from tests.world import World, whole_database

#: The contract's table: name -> (from, to).
CONTRACT: dict[str, tuple[tuple[str, ...], str]] = {
    "create": ((), "queued"),
    "claim": (("queued",), "running"),
    "lock": (("queued",), "locked"),
    "begin": (("locked",), "running"),
    "succeed": (ACTIVE, "succeeded"),
    "fail": (ACTIVE, "failed"),
    "release_for_retry": (ACTIVE, "queued"),
    "hand_back": (ACTIVE, "queued"),
    "expire": (ACTIVE, "expired"),
    "requeue": (("expired",), "queued"),
    "give_up": (("expired",), "failed"),
    "cancel": (("queued", "expired"), "cancelled"),
    "confirm_cancel": (ACTIVE, "cancelled"),
    "reject": (("queued",), "failed"),
}

BY_HOLDER = ("begin", "succeed", "fail", "release_for_retry", "hand_back", "confirm_cancel")

Edge = Callable[[World, Lease], Any]


def ask_to_cancel(lease: Lease) -> None:
    request_cancel(lease.job_id, reason="user")


def confirm(here: World, lease: Lease) -> AiJob:
    return confirm_cancel(lease, patient=hasty)


def _again(here: World, lease: Lease) -> AiJob | None:
    return db.autocommit("create", lambda: create(new_job(here, id=lease.job_id), actor="test"))


#: Every edge as a call on the job of a lease. `lock` is a runtime's and has no function yet.
EDGES: dict[str, Edge] = {
    "create": _again,
    "claim": lambda here, lease: claimed(here),
    "begin": lambda here, lease: begin(lease),
    "succeed": lambda here, lease: succeed(lease, output_hash="1" * 64),
    "fail": lambda here, lease: fail(lease, FAILURE, patient=hasty),
    "release_for_retry": lambda here, lease: release_for_retry(
        lease, FAILURE, delay_seconds=5, patient=hasty
    ),
    "hand_back": lambda here, lease: hand_back(
        lease, cause="shutdown", delay_seconds=5, patient=hasty
    ),
    "expire": lambda here, lease: expire(lease.job_id, grace_seconds=30),
    "requeue": lambda here, lease: requeue(lease.job_id, delay_seconds=5),
    "give_up": lambda here, lease: give_up(lease.job_id, FAILURE),
    "cancel": lambda here, lease: cancel(lease.job_id, reason="user", actor="user:1"),
    "confirm_cancel": confirm,
    "reject": lambda here, lease: reject(
        lease.job_id, FAILURE, cause="dead_event", actor="relay:1"
    ),
}

#: What has to be so beside the status, where a job is in a state that the edge leads from.
OPEN: dict[str, Callable[[World, Lease], None]] = {
    "expire": lambda here, lease: here.lapse(lease.job_id),
    "confirm_cancel": lambda here, lease: ask_to_cancel(lease),
}


@contextmanager
def nothing_changes() -> Iterator[None]:
    """The whole database is the same before and after."""
    before = whole_database()
    yield
    assert whole_database() == before


def change(lease: Lease, changes: str) -> None:
    sql(f"UPDATE ai_job SET {changes} WHERE id = %(id)s", id=lease.job_id)


def internal_error(lease: Lease) -> AiJob:
    failure = Failure("INTERNAL_ERROR", "Something went wrong.", "KeyError: 'x'")
    return release_for_retry(lease, failure, delay_seconds=0, patient=hasty)


def made(here: World, edge: str, state: str) -> Lease:
    """A job in this state, with what else the edge needs."""
    lease = job_in(here, state)
    if edge in OPEN:
        OPEN[edge](here, lease)
    return lease


def taken(here: World, edge: str, state: str) -> tuple[AiJob, AiJob]:
    """The job before and after the edge, taken in this state."""
    lease = made(here, edge, state)
    before = here.job(lease.job_id)
    EDGES[edge](here, lease)
    return before, here.job(lease.job_id)


def history() -> list[dict[str, Any]]:
    """All lines of the history, in order."""
    return sql(
        "SELECT from_status, to_status, attempt_no, cause, actor, error_code "
        "FROM job_transition ORDER BY id"
    )


def events() -> list[tuple[str, str, str]]:
    """(event_type, dedupe_key, status) of all events, in order."""
    found = sql("SELECT event_type, dedupe_key, status FROM outbox_event ORDER BY id")
    return [(row["event_type"], row["dedupe_key"], row["status"]) for row in found]
