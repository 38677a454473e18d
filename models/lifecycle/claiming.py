"""Edge 2: a worker takes the best claimable job of its queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from psycopg2.extras import Json

from aijobs.models import database as db
from aijobs.models.lifecycle.edge import job_from
from aijobs.models.sql import load
from aijobs.models.tables import AiJob

#: How often a claim looks before it leaves a job that others keep locked to the sweep.
LOOKS = 10

#: What an executor can do: (job_type, newest definition_version).
Known = Sequence[tuple[str, int]]

#: Where jobs on the platform's key go: job type -> (provider, model) in the order of preference.
Routes = Mapping[str, Sequence[tuple[str, str]]]
NO_ROUTES: Routes = {}


def claim(
    queue_name: str,
    *,
    known: Known,
    holder: str,
    lease_seconds: float,
    routes: Routes = NO_ROUTES,
    entered: Sequence[UUID] | None = None,
) -> AiJob | None:
    """Claim the best claimable job of the queue for `holder`; None when there is none.

    A look that loses its candidate to another claim may find nothing although a job is left that
    was committed after the look began. The permit for that job may have been spent on the lost
    candidate, so a claim ends without a job only when a later look finds none left.

    With `entered`, the jobs whose attempts the holder knows of, a claim whose answer was lost with
    the connection is adopted instead of made again.
    """
    params = claimable_params("engine", known, routes) | {
        "queue_name": queue_name,
        "holder": holder,
        "lease_seconds": lease_seconds,
    }
    tries = 0

    def work() -> db.Row | None:
        nonlocal tries
        tries += 1
        if tries > 1 and entered is not None and (unheard := _unheard(holder, entered)):
            return unheard
        return db.row(load("claim"), params)

    for _ in range(LOOKS):
        if found := db.autocommit("claim", work):
            return job_from(found)
        if db.read(lambda: db.row(load("claimable_left"), params)) is None:
            break
    return None


def adopt(holder: str, entered: Sequence[UUID]) -> AiJob | None:
    """A job that this holder claimed without hearing of it: the answer was lost with the
    connection.

    `entered` are the jobs whose attempts it knows of.
    """
    found = db.read(lambda: _unheard(holder, entered))
    return None if found is None else job_from(found)


def _unheard(holder: str, entered: Sequence[UUID]) -> db.Row | None:
    return db.row(
        "SELECT * FROM ai_job WHERE locked_by = %(holder)s AND lifecycle_status = 'running' "
        "AND NOT id = ANY (%(entered)s::uuid[]) LIMIT 1",
        {"holder": holder, "entered": list(entered)},
    )


def claimable_params(lane: str, known: Known, routes: Routes = NO_ROUTES) -> dict[str, object]:
    """The parameters of sql/claimable.sql. A type without routes waits while any circuit is not
    closed."""
    return {
        "lane": lane,
        "routes": routes_param(routes),
        "types": [job_type for job_type, _ in known],
        "versions": [version for _, version in known],
    }


def routes_param(routes: Routes) -> Json:
    """The parameter `routes` of the circuit's functions."""
    return Json({job_type: list(pairs) for job_type, pairs in routes.items()})
