"""An example of a schema, put together from the examples of its parts."""

from __future__ import annotations

from typing import Any

from aijobs.http.openapi.schemas import Schema, name_in

_BY_FORMAT = {
    "uuid": "0199d3a2-7c41-7a50-8f0e-3b5a86c1d2e4",
    "date-time": "2026-11-29T14:02:03.123456Z",
}


def example_of(schema: Schema, schemas: dict[str, Schema], *, brief: bool = False) -> Any:
    """A value that fits. `brief` leaves out of objects what is neither required nor exemplified."""
    if "$ref" in schema:
        return example_of(schemas[name_in(schema)], schemas, brief=brief)
    for key in ("examples", "enum"):
        if schema.get(key):
            return schema[key][0]
    if "const" in schema:
        return schema["const"]
    for key in ("oneOf", "anyOf"):
        if key in schema:
            return example_of(schema[key][0], schemas, brief=brief)
    return _of_type(schema, schemas, brief)


def _of_type(schema: Schema, schemas: dict[str, Schema], brief: bool) -> Any:
    match schema.get("type"):
        case "object":
            return _object(schema, schemas, brief)
        case "array":
            return [example_of(schema["items"], schemas, brief=brief)]
        case "string":
            return _BY_FORMAT.get(schema.get("format", ""), "text")
        case "boolean":
            return False
        case _:
            return schema.get("minimum", 0)


def _object(schema: Schema, schemas: dict[str, Schema], brief: bool) -> dict[str, Any]:
    required = schema.get("required", [])
    return {
        name: example_of(field, schemas, brief=brief)
        for name, field in schema.get("properties", {}).items()
        if not brief or name in required or field.get("examples")
    }
