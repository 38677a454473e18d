"""Answers of the service itself: problems, health, readiness."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict

from aijobs.http.openapi.shape import Absent, Shape, shown, told
from aijobs.http.problems import PROBLEMS


class FieldProblem(Shape):
    """One field at fault."""

    field: Annotated[str, told("Its path in the body, or the name of a parameter.", "targetId")]
    message: Annotated[
        str, told("What it must be, in the language of `Accept-Language`.", "must be a UUID")
    ]


def _problem_schema(schema: dict[str, Any]) -> None:
    schema["properties"]["code"]["enum"] = sorted(PROBLEMS)


class Problem(Shape):
    """Why a request was refused (RFC 9457)."""

    model_config = ConfigDict(json_schema_extra=_problem_schema)

    type: Annotated[str, shown("urn:aijobs:problem:invalid_request")]
    title: Annotated[str, told("In the language of `Accept-Language`.", "The request is not valid")]
    status: Annotated[int, shown(400)]
    detail: Annotated[
        str, told("In the language of `Accept-Language`.", "Some fields are not valid.")
    ]
    code: Annotated[str, told("For programs.", "INVALID_REQUEST")]
    retryable: Annotated[bool, told("Whether the same request may succeed later.", False)]
    request_id: Annotated[
        str | None,
        told("The answer's `X-Request-Id`, for support.", "6f2b3bb2-4c1d-4f1f-8c58-0a4a3c2f9a11"),
    ]
    errors: Absent[list[FieldProblem]] = None


class Health(Shape):
    """The process lives."""

    status: Literal["ok"]


class Readiness(Shape):
    """Whether the process can work."""

    status: Literal["ready", "unavailable"]
    reasons: Annotated[list[str], told("What is missing; empty when ready.", [])]
