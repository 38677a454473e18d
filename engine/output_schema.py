"""The published JSON Schema of an output model: pydantic's, without its names and references.

Invariant: two models that accept the same documents publish the same schema, whatever their classes
are called, so the published form can be compared with the contract.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

_NAMES = ("title", "default", "$defs")


def output_schema(model: type[BaseModel]) -> dict[str, Any]:
    """JSON Schema with references inlined, nullable written as a list of types, titles dropped."""
    schema = model.model_json_schema()
    inlined = _inline(schema, schema.get("$defs", {}))
    assert isinstance(inlined, dict)
    return inlined


def _inline(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_inline(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _inline(definitions[node["$ref"].rsplit("/", 1)[-1]], definitions)
    kept = {key: _child(key, item, definitions) for key, item in node.items() if key not in _NAMES}
    if "enum" in kept:
        kept.pop("type", None)
    return _nullable(kept)


def _child(key: str, item: Any, definitions: dict[str, Any]) -> Any:
    if key == "properties":  # its keys are field names, which may be called title or default
        return {name: _inline(field, definitions) for name, field in item.items()}
    return _inline(item, definitions)


def _nullable(node: dict[str, Any]) -> dict[str, Any]:
    """`anyOf: [X, null]` as X with `type: [x, "null"]`."""
    branches = node.get("anyOf")
    if not branches or len(branches) != 2 or branches[1] != {"type": "null"}:
        return node
    rest = {key: item for key, item in node.items() if key != "anyOf"}
    return {**branches[0], **rest, "type": [branches[0]["type"], "null"]}
