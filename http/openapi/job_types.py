"""The schemas of the registered job types: what each takes and what its model answers.

Invariant: a request is the common fields and the type's own parameters side by side, as `submit`
reads it: the common ones by JobRequest, the rest by the definition's `parameters`.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

from aijobs.engine.definition import JobDefinition
from aijobs.engine.request import JobRequest
from aijobs.http.openapi.schemas import REF, Schema
from aijobs.http.openapi.wording import word


def put_job_types(
    schemas: dict[str, Schema],
    names: dict[type[BaseModel], str],
    definitions: Sequence[JobDefinition],
) -> None:
    """Replace JobRequest by one request a job type, and add the outputs."""
    common = schemas[names[JobRequest]]
    parameters = {item.job_type: schemas[names[item.parameters]] for item in definitions}
    for item in definitions:
        schemas.pop(names[item.parameters], None)
    for item in definitions:
        schemas[_request_name(item)] = _request(item, common, parameters[item.job_type])
        schemas[_output_name(item)] = item.output_schema()
    schemas[names[JobRequest]] = _one_of(common["description"], definitions)


def job_type_table(definitions: Sequence[JobDefinition]) -> list[Schema]:
    """What there is to know of each job type before it is asked for."""
    return [
        {
            "jobType": item.job_type,
            "label": item.label,
            "description": item.description,
            "targetTypes": sorted(item.target_types),
            "request": {"$ref": REF + _request_name(item)},
            "output": {"$ref": REF + _output_name(item)},
        }
        for item in definitions
    ]


def _request(definition: JobDefinition, common: Schema, own: Schema) -> Schema:
    word(own, "parameters")
    fields = common["properties"]
    narrowed = {
        "jobType": {**_told(fields["jobType"]), "const": definition.job_type},
        "targetType": {**_told(fields["targetType"]), "enum": sorted(definition.target_types)},
    }
    return {
        "type": "object",
        "title": definition.label,
        "description": definition.description,
        "properties": {**fields, **narrowed, **own.get("properties", {})},
        "required": [*common["required"], *own.get("required", [])],
        "additionalProperties": own.get("additionalProperties", True),
    }


def _told(field: Schema) -> Schema:
    return {"type": "string", "description": field["description"]}


def _one_of(description: str, definitions: Sequence[JobDefinition]) -> Schema:
    mapping = {item.job_type: REF + _request_name(item) for item in definitions}
    return {
        "description": description,
        "oneOf": [{"$ref": ref} for ref in mapping.values()],
        "discriminator": {"propertyName": "jobType", "mapping": mapping},
    }


def _request_name(definition: JobDefinition) -> str:
    return f"{_pascal(definition)}Request"


def _output_name(definition: JobDefinition) -> str:
    return f"{_pascal(definition)}Output"


def _pascal(definition: JobDefinition) -> str:
    return "".join(word.capitalize() for word in definition.job_type.split("_"))
