"""A refusal in both languages: the same but for what people read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_CHINESE = re.compile("[\u4e00-\u9fff]")
_FOR_PEOPLE = ("title", "detail", "errors", "requestId")


def check_both(english: dict[str, Any], chinese: dict[str, Any]) -> None:
    """The Chinese one is in Chinese wherever the English one is in English."""
    assert _of_programs(chinese) == _of_programs(english)
    assert [text for text in _texts(english) if _CHINESE.search(text)] == []
    assert [text for text in _texts(chinese) if not _CHINESE.search(text)] == []


def _of_programs(problem: dict[str, Any]) -> tuple[Any, ...]:
    facts = {name: value for name, value in problem.items() if name not in _FOR_PEOPLE}
    return facts, [error["field"] for error in problem.get("errors", [])]


def _texts(problem: dict[str, Any]) -> Iterator[str]:
    yield problem["title"]
    yield problem["detail"]
    yield from (error["message"] for error in problem.get("errors", []))
