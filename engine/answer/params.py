"""What an answer is judged against, beside its definition."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AnswerParams:
    """`requested_count`: items asked for, if the type has a number; `refs`: the snapshot's."""

    requested_count: int | None = None
    refs: frozenset[str] = frozenset()
