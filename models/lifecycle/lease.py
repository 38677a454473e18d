"""A lease: the right of one attempt to work on its job, and its renewal by heartbeat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from aijobs.models import database as db
from aijobs.models.sql import load
from aijobs.models.transitions import ACTIVE


@dataclass(frozen=True, slots=True)
class Lease:
    """The fence of an attempt: every write on its behalf is conditional on all three.

    `holder` is `<host>:<pid>:<uuid of this process start>`.
    """

    job_id: UUID
    attempt_no: int
    holder: str

    def holds(self, row: dict[str, Any]) -> bool:
        """Whether a row's id, lifecycle_status, attempt_no and locked_by are this lease's."""
        return (
            row["lifecycle_status"] in ACTIVE
            and row["attempt_no"] == self.attempt_no
            and row["locked_by"] == self.holder
        )


@dataclass(frozen=True, slots=True)
class Renewal:
    """What a heartbeat learnt: leases renewed, leases lost, jobs whose cancel is requested."""

    renewed: frozenset[UUID]
    lost: frozenset[UUID]
    cancel_requested: frozenset[UUID]


def renew(leases: Sequence[Lease], lease_seconds: float) -> Renewal:
    """Renew the leases of one process (all have one holder), in one short transaction.

    A lease whose row is busy counts as neither renewed nor lost: the next beat tries again.
    """
    params = {
        "job_ids": [lease.job_id for lease in leases],
        "attempt_nos": [lease.attempt_no for lease in leases],
        "holder": leases[0].holder,
        "lease_seconds": lease_seconds,
    }

    def beat() -> list[dict[str, Any]]:
        db.rows("SET LOCAL lock_timeout = '2s'")
        return db.rows(load("renew_leases"), params)

    renewed = db.transact("heartbeat", beat)
    done = frozenset(row["id"] for row in renewed)
    missing = [lease for lease in leases if lease.job_id not in done]
    return Renewal(
        renewed=done,
        lost=_lost(missing),
        cancel_requested=frozenset(row["id"] for row in renewed if row["cancel_requested"]),
    )


def _lost(missing: Sequence[Lease]) -> frozenset[UUID]:
    if not missing:
        return frozenset()
    found = db.read(
        lambda: db.rows(
            "SELECT id, lifecycle_status, attempt_no, locked_by FROM ai_job "
            "WHERE id = ANY (%(ids)s)",
            {"ids": [lease.job_id for lease in missing]},
        )
    )
    by_id = {row["id"]: row for row in found}
    return frozenset(
        lease.job_id
        for lease in missing
        if lease.job_id not in by_id or not lease.holds(by_id[lease.job_id])
    )
