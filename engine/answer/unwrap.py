"""A right document in one wrapping too many, or one too few.

Invariant: a wrapping is taken off only when what is inside has the output's required fields, and a
list becomes the output's list only when that is the one thing it can be.
"""

from __future__ import annotations

from typing import Any

from aijobs.engine.answer.reading import Reading
from aijobs.engine.answer.strict import NotJson, Unacceptable, loads

_NOT_THE_ANSWER = {"error", "example", "draft", "schema", "properties", "$defs"}
_MAX_WRAPPINGS = 3


def unwrap(reading: Reading) -> None:
    """Decode a document in a string, enter a single-key wrapper, give a bare list its name."""
    if isinstance(reading.value, str):
        reading.value = _decoded(reading.value)
        reading.repaired("document decoded from a string")
    for _ in range(_MAX_WRAPPINGS):
        inner = _wrapped(reading)
        if inner is None:
            break
        reading.value = inner
        reading.repaired("wrapper taken off")
    if _is_bare_list(reading):
        reading.value = {str(reading.definition.items_field): reading.value}
        reading.repaired("list named")


def _decoded(text: str) -> Any:
    try:
        return loads(text)
    except (NotJson, Unacceptable):
        return text  # the schema says what is wrong with it


def _wrapped(reading: Reading) -> dict[str, Any] | None:
    value = reading.value
    if not isinstance(value, dict) or len(value) != 1:
        return None
    [(key, inner)] = value.items()
    if key in _required(reading) or key.casefold() in _NOT_THE_ANSWER:
        return None
    if isinstance(inner, dict) and (len(inner) == 1 or _required(reading) <= inner.keys()):
        return inner
    return None


def _required(reading: Reading) -> set[str]:
    fields = reading.definition.output_model.model_fields
    return {name for name, field in fields.items() if field.is_required()}


def _is_bare_list(reading: Reading) -> bool:
    return (
        isinstance(reading.value, list)
        and bool(reading.value)
        and all(isinstance(item, dict) for item in reading.value)
        and _required(reading) == {reading.definition.items_field}
    )
