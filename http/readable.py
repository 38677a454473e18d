"""Results of jobs as a person reads them in a terminal, one function per kind of artifact."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Item = dict[str, Any]


def readable(result: dict[str, Any]) -> Iterator[str]:
    """The lines of a result in full (GET /jobs/{id}/result)."""
    for number, item in enumerate(result["artifacts"], 1):
        yield from _LINES[item["artifactType"]](number, item)


def _question(number: int, item: Item) -> Iterator[str]:
    yield f"\n{number}. {item['question']}"
    for place, option in enumerate(item["options"]):
        mark = "✓" if place == item["answerIndex"] else " "
        yield f"   {mark} {'ABCDEF'[place]}) {option}"


def _card(number: int, item: Item) -> Iterator[str]:
    yield f"\n{number}. {item['front']}"
    yield f"   → {item['back']}"


def _analysis(number: int, item: Item) -> Iterator[str]:
    yield f"\n{item['summary']}"
    for mastery in item["mastery"][:8]:
        done = round(mastery["score"] * 20)
        yield f"   {'█' * done + '·' * (20 - done)} {mastery['score']:>4.0%} {mastery['topic']}"
    more = len(item["mastery"]) - 8
    if more > 0:
        yield f"   … and {more} more, each mastered better"


def _weak_point(number: int, item: Item) -> Iterator[str]:
    yield f"{number:>2}. [{item['severity']:<6}] {item['topic']}: {item['evidence']}"


def _action(number: int, item: Item) -> Iterator[str]:
    yield f"{number:>2}. {item['title']} ({item['minutes']} min, {item['priority']})"
    yield f"    {item['reason']}"


def _evaluation(number: int, item: Item) -> Iterator[str]:
    clarity = "" if item.get("clarity") is None else f", clarity {item['clarity']:.0%}"
    yield f"\nScore {item['score']:.0%}{clarity}. {item['feedback']}"
    for missing in item["missing"]:
        yield f"   missing: {missing}"


_LINES: dict[str, Callable[[int, Item], Iterator[str]]] = {
    "quiz_question_candidate": _question,
    "flashcard_candidate": _card,
    "ai_learning_analysis": _analysis,
    "weak_point_candidate": _weak_point,
    "next_action_recommendation": _action,
    "recall_evaluation": _evaluation,
}
