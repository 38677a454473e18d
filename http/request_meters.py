"""What an API process counts: requests by route, how long they took, what no throttle counted.

Invariant: a label is a word of ours; of what a client sends, neither path nor method becomes one.
"""

from __future__ import annotations

import time
from typing import Any

import falcon
from prometheus_client import CollectorRegistry, Counter, Histogram

_NOWHERE = "unknown"
_METHODS = frozenset(falcon.HTTP_METHODS)


class RequestMeters:
    """The counters of the application."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "aijobs_http_requests",
            "Requests by the route's template and the answer's status.",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "aijobs_http_request_seconds",
            "Time to an answer; requests that asked to wait are left out.",
            ("route",),
            registry=self.registry,
        )
        self._uncounted = Counter(
            "aijobs_http_requests_uncounted",
            "Requests that passed their throttle uncounted, since Redis did not answer.",
            registry=self.registry,
        )

    def count(self, req: falcon.Request, status: int, seconds: float) -> None:
        """An answered request."""
        route = req.uri_template or _NOWHERE
        method = req.method if req.method in _METHODS else "other"
        self._requests.labels(method, route, str(status)).inc()
        if not req.has_param("wait"):
            self._seconds.labels(route).observe(seconds)

    def count_uncounted(self) -> None:
        """A request that Redis could not count."""
        self._uncounted.inc()


class CountRequests:
    """The outermost middleware: it sees every answer as it is sent."""

    def __init__(self, meters: RequestMeters) -> None:
        self._meters = meters

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        req.context.began = time.monotonic()

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: Any, succeeded: bool
    ) -> None:
        self._meters.count(req, resp.status_code, time.monotonic() - req.context.began)
