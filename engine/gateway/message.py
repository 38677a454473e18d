"""What one message of a model says, whole or as a stream's delta, in the shapes that servers use.

Invariant: thinking is noted and never becomes text of the answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_THINKING = ("reasoning_content", "reasoning")
_CALLS = ("tool_calls", "function_call")


class StrangeContent(ValueError):
    """A content that is neither text nor parts of it."""


@dataclass(frozen=True, slots=True)
class Said:
    """`text` is None where the content was null."""

    text: str | None
    refusal: str
    has_tool_calls: bool
    reasoning: bool


def said(message: dict[str, Any]) -> Said:
    """Read a `message` or `delta`. Raises StrangeContent."""
    parts = list(_parts(message.get("content")))
    texts = [text for kind, text in parts if kind == "text"]
    refusals = [text for kind, text in parts if kind == "refusal"]
    refusal = message.get("refusal")
    return Said(
        text="".join(texts) if texts else None,
        refusal="".join([*refusals, refusal if isinstance(refusal, str) else ""]),
        has_tool_calls=any(message.get(name) for name in _CALLS),
        reasoning=any(message.get(name) for name in _THINKING)
        or any(kind in ("thinking", "reasoning") for kind, _ in parts),
    )


def _parts(content: Any) -> Iterator[tuple[str, str]]:
    """(kind, text) of a string, or of a list of strings and `{"type", "text"}` parts."""
    if content is None:
        return
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            yield "text", part
        elif isinstance(part, dict) and isinstance(content, list):
            kind = str(part.get("type") or "text")
            text = part.get(kind)
            yield kind, text if isinstance(text, str) else ""
        else:
            raise StrangeContent
