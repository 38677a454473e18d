"""A right document under a key too many, or without its own.

Invariant: a wrapping is taken off only when what is inside has the output's required fields, and a
list becomes the output's list only when that is the one thing it can be.
"""

from __future__ import annotations

from typing import Any

from aijobs.engine.answer.reading import Reading

#: What is under one of these was never given as the answer: a message, a sample, thinking, a call.
_NOT_THE_ANSWER = {
    *("error", "example", "draft", "schema", "properties", "$defs"),
    *("think", "thinking", "thought", "thoughts", "reasoning", "reasoning_content", "scratchpad"),
    *("tool_call", "tool_calls", "function", "function_call"),
}
_MAX_WRAPPINGS = 3


def unwrap(reading: Reading) -> None:
    """Enter a single-key wrapper, give a bare list its name."""
    for _ in range(_MAX_WRAPPINGS):
        inner = _wrapped(reading)
        if inner is None:
            break
        reading.value = inner
        reading.repaired("wrapper taken off")
    if _is_bare_list(reading):
        reading.value = {str(reading.definition.items_field): reading.value}
        reading.repaired("list named")


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
