"""The OpenAPI 3.1 document, put together from the tables of operations and a registry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pydantic import BaseModel

from aijobs.engine.definition import JobDefinition
from aijobs.engine.errors import ERRORS
from aijobs.http.openapi.about import DESCRIPTION
from aijobs.http.openapi.admin_operations import ADMIN
from aijobs.http.openapi.base_operations import KNOWLEDGE_BASES
from aijobs.http.openapi.credential_operations import CREDENTIALS
from aijobs.http.openapi.job_operations import JOBS
from aijobs.http.openapi.job_types import job_type_table, put_job_types
from aijobs.http.openapi.learner_operations import LEARNER, MATERIALS
from aijobs.http.openapi.operation import FileBody, Group, Operation
from aijobs.http.openapi.paths import Paths
from aijobs.http.openapi.result_operations import RESULTS
from aijobs.http.openapi.schemas import schemas_of
from aijobs.http.openapi.service_operations import SERVICE
from aijobs.http.openapi.service_shapes import Problem
from aijobs.http.openapi.user_operations import USER
from aijobs.http.openapi.wording import word
from aijobs.http.problems import PROBLEMS
from aijobs.http.version import current_version

GROUPS = (JOBS, RESULTS, KNOWLEDGE_BASES, MATERIALS, LEARNER, CREDENTIALS, USER, ADMIN, SERVICE)


def openapi_document(definitions: Iterable[JobDefinition]) -> dict[str, Any]:
    """The document of an API that knows these job types, as JSON."""
    known = list(definitions)
    names, schemas = schemas_of(_models(known))
    for name, schema in schemas.items():
        word(schema, name)
    put_job_types(schemas, names, known)
    paths = Paths(names, schemas)
    for group in GROUPS:
        paths.add(group)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "aijobs",
            "version": current_version(),
            "summary": "Durable AI jobs for learners.",
            "description": DESCRIPTION,
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": group.name, "description": group.sentence} for group in GROUPS],
        "security": [{"bearer": []}],
        "paths": paths.items,
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
            },
        },
        "x-job-types": job_type_table(known),
        "x-problems": _problems(),
        "x-job-errors": _job_errors(),
    }


def _models(definitions: Sequence[JobDefinition]) -> Iterator[type[BaseModel]]:
    yield Problem
    for operation in _operations(GROUPS):
        yield from (answer.shape for answer in operation.answers if answer.shape is not None)
        if operation.body is not None and not isinstance(operation.body, FileBody):
            yield operation.body
    yield from (definition.parameters for definition in definitions)


def _operations(groups: Iterable[Group]) -> Iterator[Operation]:
    for group in groups:
        yield from group.operations


def _problems() -> list[dict[str, Any]]:
    return [
        {"code": p.code, "status": p.status, "title": p.en, "retryable": p.retryable}
        for p in PROBLEMS.values()
    ]


def _job_errors() -> list[dict[str, Any]]:
    return [
        {"code": error.code, "message": error.public_message(), "retryable": error.retryable}
        for error in ERRORS.values()
    ]
