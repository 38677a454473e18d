"""Text as it is stored: control characters that no page shows are removed.

Invariant: line breaks and tabs stay; nothing else under U+0020, nor U+007F to U+009F, comes
through.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from aijobs.engine.answer.reading import Reading

_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def clean_text(reading: Reading) -> None:
    """Remove control characters from every text of the value."""
    cleaned = map_texts(reading.value, lambda text: _CONTROLS.sub("", text))
    if cleaned != reading.value:
        reading.value = cleaned
        reading.repaired("control characters removed")


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """`value` with `change` applied to every text in it; keys stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [map_texts(item, change) for item in value]
    if isinstance(value, dict):
        return {key: map_texts(item, change) for key, item in value.items()}
    return value
