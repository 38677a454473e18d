"""The operations of the service itself; none needs a token."""

from __future__ import annotations

from aijobs.http.openapi.operation import Answer, Group, Operation
from aijobs.http.openapi.service_shapes import Health, Readiness

SERVICE = Group(
    "Service",
    "The service itself. No token is needed.",
    (
        Operation(
            "getHealth",
            "GET",
            "/healthz",
            "Whether the process lives",
            answers=(Answer(200, "It does.", Health),),
            needs_token=False,
        ),
        Operation(
            "getReadiness",
            "GET",
            "/readyz",
            "Whether the process can work",
            answers=(
                Answer(200, "It can.", Readiness),
                Answer(503, "It cannot, and why.", Readiness),
            ),
            needs_token=False,
        ),
        Operation(
            "getMetrics",
            "GET",
            "/metrics",
            "What to watch, for Prometheus",
            description="OpenMetrics instead, for clients whose `Accept` asks for it.",
            answers=(Answer(200, "The text format, whatever is away.", media_type="text/plain"),),
            needs_token=False,
        ),
        Operation(
            "getOpenApi",
            "GET",
            "/openapi.json",
            "This document",
            answers=(Answer(200, "OpenAPI 3.1.", media_type="application/json"),),
            needs_token=False,
        ),
        Operation(
            "getDocs",
            "GET",
            "/docs",
            "This document as a page",
            answers=(Answer(200, "A page for people.", media_type="text/html"),),
            needs_token=False,
        ),
    ),
)
