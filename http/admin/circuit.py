"""/circuit: the circuits of the platform's routes, opened, half opened and closed by hand."""

from __future__ import annotations

from typing import Annotated, Any

import falcon
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from aijobs.engine import circuits
from aijobs.engine.circuits import Action, PlatformRoute
from aijobs.engine.engine import Engine
from aijobs.engine.refusal import FieldFault, Refused
from aijobs.engine.sentence import Sentence
from aijobs.engine.signals import Signals
from aijobs.http.body import read_model
from aijobs.http.middleware import administrator_of
from aijobs.http.moments import moment
from aijobs.http.views import present
from aijobs.models import circuit
from aijobs.models import database as db
from aijobs.models.tables import PlatformCircuit

Name = Annotated[str, Field(min_length=1, max_length=200)]
Reason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class CircuitBody(BaseModel):
    """What becomes of which circuits; without provider and model, of all."""

    model_config = ConfigDict(strict=True, extra="forbid", alias_generator=to_camel)

    action: Action
    provider: Name | None = None
    model: Name | None = None
    hold: bool = False
    reason: Reason = "ADMIN"


class Circuit:
    """A configured route that has never failed is shown as closed."""

    def __init__(self, engine: Engine, signals: Signals) -> None:
        self._engine = engine
        self._signals = signals

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        known = self._known()
        items = [self._view(route, known[route]) for route in sorted(known)]
        resp.media = {"items": items}

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        body = read_model(req, CircuitBody)
        routes = _chosen(body, set(self._known()))
        changed = circuits.move(
            self._engine,
            routes,
            body.action,
            who=administrator_of(req),
            reason=body.reason,
            hold=body.hold,
        )
        if changed:
            self._signals.hint_outbox()
        self.on_get(req, resp)

    def _known(self) -> dict[PlatformRoute, PlatformCircuit | None]:
        """Configured routes, and those that were configured when they failed."""
        found: dict[PlatformRoute, PlatformCircuit | None] = dict.fromkeys(self._job_types())
        for row in db.read(circuit.all_circuits):
            found[(row.provider, row.model)] = row
        return found

    def _view(self, route: PlatformRoute, row: PlatformCircuit | None) -> dict[str, Any]:
        provider, model = route
        view = {"provider": provider, "model": model, "state": "closed", "epoch": 0}
        view |= {"consecutiveFailures": 0} if row is None else _row_view(row)
        return view | {"jobTypes": self._job_types().get(route, [])}

    def _job_types(self) -> dict[PlatformRoute, list[str]]:
        return circuits.job_types_by_route(self._engine)


def _chosen(body: CircuitBody, known: set[PlatformRoute]) -> set[PlatformRoute]:
    """The known routes that the body means. Raises Refused when that is none."""
    wanted = {"provider": body.provider, "model": body.model}
    chosen = {
        route
        for route in known
        if all(name in (None, part) for name, part in zip(wanted.values(), route, strict=True))
    }
    if not chosen:
        faults = tuple(
            FieldFault(field, Sentence("is of no known route: GET /circuit lists them"))
            for field, name in wanted.items()
            if name is not None
        )
        raise Refused("INVALID_REQUEST", Sentence("There is no such route."), errors=faults)
    return chosen


def _row_view(row: PlatformCircuit) -> dict[str, Any]:
    return present(
        {
            "state": row.state,
            "epoch": row.epoch,
            "consecutiveFailures": row.consecutive_failures,
            "cause": row.cause,
            "openedAt": moment(row.opened_at),
            "halfOpenAt": moment(row.half_open_at),
            "nextProbeAt": moment(row.next_probe_at),
            "changedAt": moment(row.changed_at),
            "changedBy": row.changed_by,
        }
    )
