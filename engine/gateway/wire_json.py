"""JSON as it comes over the wire.

Invariant: whatever is wrong with a document, the answer is NotJson and nothing else.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn


class NotJson(ValueError):
    """These bytes are not one JSON document in UTF-8."""


def parse(data: bytes) -> Any:
    """The value of a document; blanks and a BOM around it do not matter. No NaN, no Infinity."""
    try:
        return json.loads(data.decode("utf-8-sig"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        problem = type(error).__name__
    raise NotJson(problem)


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)
