"""/metrics: what the database says now, and what all processes have counted.

Invariant: it answers in a bounded time whatever the database does, and no two scrapes ask a
database that does not answer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import falcon
import structlog
from prometheus_client import Metric
from prometheus_client.exposition import choose_encoder

from aijobs.engine.engine import Engine
from aijobs.http.observed_metrics import observed_metrics
from aijobs.http.request_meters import RequestMeters
from aijobs.models.errors import DatabaseAway
from aijobs.models.observed import Observed, observe

#: Under the 10 s that Prometheus waits for a scrape.
_LOOK_SECONDS = 5.0

log = structlog.get_logger()


class Metrics:
    """The endpoint."""

    def __init__(self, engine: Engine, requests: RequestMeters) -> None:
        self._engine = engine
        self._requests = requests
        self._look = Look(lambda: observe(engine.settings.missed_seconds))

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Prometheus text, or OpenMetrics for those who ask for it."""
        encode, resp.content_type = choose_encoder(req.get_header("Accept") or "")
        resp.data = encode(self)

    def collect(self) -> Iterator[Metric]:
        """Everything there is."""
        yield from observed_metrics(self._engine, self._look.found())
        yield from self._engine.meters.collect(self._requests.registry)


class Look:
    """A question to the database that nobody waits for longer than `seconds`. While one is under
    way the next scrapes share it, so that a hanging database costs a process one thread."""

    def __init__(self, ask: Callable[[], Observed], seconds: float = _LOOK_SECONDS) -> None:
        self._ask = ask
        self._seconds = seconds
        self._lock = threading.Lock()
        self._under_way: Future[Observed] | None = None

    def found(self) -> Observed | None:
        """What there is; None when the database does not say in time."""
        try:
            return self._begun().result(self._seconds)
        except (DatabaseAway, TimeoutError) as error:
            log.warning("database_not_observed", reason=type(error).__name__)
            return None

    def _begun(self) -> Future[Observed]:
        with self._lock:
            if self._under_way is None or self._under_way.done():
                self._under_way = Future()
                threading.Thread(target=self._run, args=(self._under_way,), daemon=True).start()
            return self._under_way

    def _run(self, future: Future[Observed]) -> None:
        try:
            future.set_result(self._ask())
        except Exception as error:
            future.set_exception(error)


def add_routes(app: Any, engine: Engine, requests: RequestMeters) -> None:
    """/metrics, without a token like the other operations endpoints."""
    app.add_route("/metrics", Metrics(engine, requests))
