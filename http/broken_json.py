"""Where a body breaks the rules of strict JSON, as the path of the field, for the refusal."""

from __future__ import annotations

import json
from typing import Any

from aijobs.engine.answer.strict import Unacceptable, check_text, loads


def place_in(text: str) -> str:
    """The path of the first value in `text` that `strict.loads` does not accept; else `body`."""
    try:
        value = json.loads(text, parse_int=_number, parse_float=_number, parse_constant=_number)
    except (ValueError, RecursionError):
        return "body"
    return _place(value) or "body"


class _Broken:
    """Stands for a number that is none, or is too long."""


def _number(digits: str) -> Any:
    try:
        return loads(digits)
    except Unacceptable:
        return _Broken()


def _place(value: Any) -> str | None:
    """None when nothing is wrong; an empty path for the value itself."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for name, inner in items:
            if (found := _place(inner)) is not None:
                return f"{name}.{found}".rstrip(".")
        return None
    return "" if isinstance(value, _Broken) or not _is_storable(value) else None


def _is_storable(value: Any) -> bool:
    try:
        check_text(value)
    except Unacceptable:
        return False
    return True
