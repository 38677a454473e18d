"""What a schema says about one value, in words."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Schema = dict[str, Any]
Resolve = Callable[[Schema], Schema]

_FORMATS = {"uuid": "UUID", "date-time": "time"}
_TYPES = {"integer": "whole number", "boolean": "true or false", "array": "list"}


def kind_of(schema: Schema, resolve: Resolve) -> str:
    """Such as `UUID`, `list of string`, `string or null`."""
    if "anyOf" in schema:
        return " or ".join(kind_of(resolve(part), resolve) for part in schema["anyOf"])
    kind = schema.get("type", "object")
    if isinstance(kind, list):
        return " or ".join(kind_of({**schema, "type": one}, resolve) for one in kind)
    if kind == "array":
        return f"list of {kind_of(resolve(schema['items']), resolve)}"
    return _FORMATS.get(schema.get("format", "")) or _TYPES.get(kind) or str(kind)


def limits_of(schema: Schema) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Sentences about what is valid, and the values to choose from."""
    limits: list[str] = []
    choices: list[str] = []
    for part in (schema, *schema.get("anyOf", ())):
        limits += _limits(part)
        choices += [
            str(value) for value in part.get("enum", [part.get("const")]) if value is not None
        ]
    if schema.get("default") not in (None, [], {}):
        limits.append(f"default {json.dumps(schema['default'])}")
    return tuple(limits), tuple(choices)


def _limits(schema: Schema) -> list[str]:
    items = schema.get("items", {})
    return [
        words
        for words in (
            _range(schema, "minimum", "maximum", ""),
            _range(schema, "minLength", "maxLength", " characters"),
            _range(schema, "minItems", "maxItems", " items"),
            _range(items, "minLength", "maxLength", " characters each"),
        )
        if words
    ]


def _range(schema: Schema, least: str, most: str, unit: str) -> str:
    low, high = schema.get(least), schema.get(most)
    if high is None:
        return "" if low is None else f"at least {low}{unit}"
    return f"up to {high}{unit}" if low is None else f"{low} to {high}{unit}"
