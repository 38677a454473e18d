"""The problems that an operation may answer, as responses of the document, one a status."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from aijobs.http.middleware import ADMIN_PREFIXES
from aijobs.http.openapi.operation import HEADERS, Operation
from aijobs.http.openapi.schemas import REF
from aijobs.http.openapi.service_shapes import Problem
from aijobs.http.problems import MEDIA_TYPE, PROBLEMS

_OF_USERS = ("INVALID_REQUEST", "UNAUTHENTICATED", "RATE_LIMITED", "PLATFORM_UNAVAILABLE")
_OF_BODIES = ("PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE")
_HEADERS = {
    401: ("WWW-Authenticate",),
    429: ("Retry-After", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"),
    503: ("Retry-After",),
}


def refusals(operation: Operation) -> dict[str, Any]:
    """Response objects by status."""
    by_status: dict[int, list[str]] = {}
    for code in _codes(operation):
        by_status.setdefault(PROBLEMS[code].status, []).append(code)
    return {str(status): _refusal(status, by_status[status]) for status in sorted(by_status)}


def headers(names: Iterable[str]) -> dict[str, Any]:
    """Header objects of a response."""
    return {name: {"description": HEADERS[name], "schema": {"type": "string"}} for name in names}


def _codes(operation: Operation) -> list[str]:
    codes = [*operation.problems, "INTERNAL_ERROR"]
    if operation.needs_token:
        codes += _OF_USERS
    if operation.path.startswith(ADMIN_PREFIXES):
        codes.append("FORBIDDEN")
    if operation.body is not None:
        codes += _OF_BODIES
    if "{" in operation.path:
        codes.append("NOT_FOUND")
    return list(dict.fromkeys(codes))


def _refusal(status: int, codes: list[str]) -> dict[str, Any]:
    item: dict[str, Any] = {"description": "; ".join(PROBLEMS[code].en for code in codes) + "."}
    if status in _HEADERS:
        item["headers"] = headers(_HEADERS[status])
    narrowed = {"properties": {"code": {"enum": codes}}}
    problem = {"$ref": f"{REF}{Problem.__name__}"}
    item["content"] = {MEDIA_TYPE: {"schema": {"allOf": [problem, narrowed]}}}
    return item
