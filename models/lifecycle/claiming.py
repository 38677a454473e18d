"""Edge 2: a worker takes the best claimable job of its queue. (Edge 3 comes with the runtime API.)"""

from __future__ import annotations

from collections.abc import Sequence

from aijobs.models import database as db
from aijobs.models.lifecycle.edge import job_from
from aijobs.models.sql import load
from aijobs.models.tables import AiJob

#: What an executor can do: (job_type, newest definition_version).
Known = Sequence[tuple[str, int]]


def claim(queue_name: str, *, known: Known, holder: str, lease_seconds: float) -> AiJob | None:
    """Claim the best claimable job of the queue for `holder`; None when there is none."""
    params = claimable_params("engine", known) | {
        "queue_name": queue_name,
        "holder": holder,
        "lease_seconds": lease_seconds,
    }
    found = db.statement("claim", load("claim"), params)
    return job_from(found[0]) if found else None


def claimable_params(lane: str, known: Known) -> dict[str, object]:
    """The parameters of sql/claimable.sql."""
    return {
        "lane": lane,
        "types": [job_type for job_type, _ in known],
        "versions": [version for _, version in known],
    }
