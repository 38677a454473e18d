"""What a provider says it counted."""

from __future__ import annotations

from typing import Any

import pytest

from aijobs.engine.chat import TokenUsage
from aijobs.engine.gateway.token_usage import token_usage

WHOLE = {
    "prompt_tokens": 100,
    "completion_tokens": 50,
    "total_tokens": 150,
    "prompt_tokens_details": {"cached_tokens": 30},
    "prompt_cache_hit_tokens": 30,
    "prompt_cache_miss_tokens": 70,
    "completion_tokens_details": {"reasoning_tokens": 20},
}


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        (WHOLE, TokenUsage(100, 30, 50, 20)),
        (
            {"prompt_tokens": 100, "completion_tokens": 50, "prompt_tokens_details": None},
            TokenUsage(100, None, 50, None),
        ),
        (
            {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}},
            TokenUsage(9, 4, None, None),
        ),
        (
            {"prompt_tokens": 9, "prompt_tokens_details": {"prompt_cache_hit_tokens": 4}},
            TokenUsage(9, 4, None, None),
        ),
        (
            {"prompt_cache_hit_tokens": 3, "prompt_cache_miss_tokens": 4, "completion_tokens": 1},
            TokenUsage(7, 3, 1, None),
        ),
        ({"prompt_tokens": 0, "completion_tokens": 0}, TokenUsage(0, None, 0, None)),
        (
            {"prompt_tokens": 5, "prompt_cache_hit_tokens": 0, "completion_tokens": 0},
            TokenUsage(5, 0, 0, None),
        ),
        ({"prompt_tokens": 12.0, "completion_tokens": 3}, TokenUsage(12, None, 3, None)),
        ({"prompt_tokens": 12.5, "completion_tokens": 3}, TokenUsage(None, None, 3, None)),
        ({"prompt_tokens": -1, "completion_tokens": 3}, TokenUsage(None, None, 3, None)),
        ({"prompt_tokens": 10**18, "completion_tokens": 3}, TokenUsage(None, None, 3, None)),
        ({"prompt_tokens": True, "completion_tokens": 3}, TokenUsage(None, None, 3, None)),
        ({"prompt_tokens": "12", "completion_tokens": 3}, TokenUsage(None, None, 3, None)),
        ({"prompt_tokens": float("inf"), "completion_tokens": 3}, TokenUsage(None, None, 3, None)),
        (
            {"prompt_tokens": 5, "prompt_cache_hit_tokens": 6, "completion_tokens": 1},
            TokenUsage(5, None, 1, None),
        ),
        (
            {"completion_tokens": 1, "completion_tokens_details": {"reasoning_tokens": 2}},
            TokenUsage(None, None, 1, None),
        ),
    ],
)
def test_counts_are_taken_where_they_are_and_can_be_true(usage: Any, counted: TokenUsage) -> None:
    assert token_usage(usage) == counted


@pytest.mark.parametrize(
    "usage",
    [None, {}, [], "many", 5, {"prompt_tokens": None}, {"prompt_tokens": -1, "total_tokens": 9}],
)
def test_no_usable_count_is_no_usage(usage: Any) -> None:
    assert token_usage(usage) is None
