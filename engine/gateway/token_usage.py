"""What a provider says it counted, in the places where the servers put it.

Invariant: a number is what was said and can be true, or None; a 0 is a 0.
"""

from __future__ import annotations

from typing import Any

from aijobs.engine.chat import TokenUsage

#: Beyond any context window: what is larger is no count.
_MOST_TOKENS = 10_000_000


def token_usage(usage: Any) -> TokenUsage | None:
    """The counts in a `usage` object (facts: DeepSeek's page and servers that differ from it).

    `prompt_tokens` is hits plus misses; cache fields come at the top or nested, or not at all.
    """
    if not isinstance(usage, dict):
        return None
    prompt, completion = _inner(usage, "prompt"), _inner(usage, "completion")
    output = _count(usage.get("completion_tokens"))
    cached = _first(
        usage.get("prompt_cache_hit_tokens"),
        prompt.get("cached_tokens"),
        prompt.get("prompt_cache_hit_tokens"),
    )
    missed = _first(usage.get("prompt_cache_miss_tokens"), prompt.get("prompt_cache_miss_tokens"))
    tokens = _count(usage.get("prompt_tokens"))
    if tokens is None and cached is not None and missed is not None:
        tokens = cached + missed
    if tokens is None and output is None:
        return None
    reasoning = _count(completion.get("reasoning_tokens"))
    return TokenUsage(tokens, _part(cached, tokens), output, _part(reasoning, output))


def _inner(usage: dict[str, Any], kind: str) -> dict[str, Any]:
    details = usage.get(f"{kind}_tokens_details")
    return details if isinstance(details, dict) else {}


def _first(*values: Any) -> int | None:
    return next((count for value in values if (count := _count(value)) is not None), None)


def _count(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if value == value // 1 and 0 <= value <= _MOST_TOKENS else None


def _part(part: int | None, whole: int | None) -> int | None:
    return part if part is not None and (whole is None or part <= whole) else None
