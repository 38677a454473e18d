"""What the scripted model answers: a valid output for the job type that the prompt names.

Invariant: the same prompt and mark give the same answer; another mark gives another one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

_DEFAULT_COUNT = 5
_OPTIONS = 4

Item = dict[str, Any]


def default_answer(body: dict[str, Any], mark: str = "") -> str:
    """The JSON text of an answer; `mark` is put into its texts."""
    system = _said(body, "system")
    user = _said(body, "user")
    items = _items(user) or [{"ref": "k1", "title": "Topic"}]
    wanted = re.search(r"exactly (\d+)", user)
    count = int(wanted.group(1)) if wanted else _DEFAULT_COUNT
    for key, write in _WRITERS.items():
        if key in system:
            return json.dumps(write(items, count, mark), ensure_ascii=False)
    return json.dumps({"answer": f"42{mark}"})


def _said(body: dict[str, Any], role: str) -> str:
    messages = body.get("messages", [])
    return "\n".join(str(m["content"]) for m in messages if m.get("role") == role)


def _items(text: str) -> list[Item]:
    """The numbered source items: one JSON object a line, with a ref and a title."""
    found = []
    for line in text.splitlines():
        if line.startswith('{"ref"'):
            item = json.loads(line)
            if "title" in item:
                found.append(item)
    return found


def _questions(items: Sequence[Item], count: int, mark: str) -> Any:
    return {"questions": [_question(items, number, mark) for number in range(count)]}


def _question(items: Sequence[Item], number: int, mark: str) -> Any:
    item = items[number % len(items)]
    return {
        "question": f"Which statement {number + 1} fits {item['title']}?{mark}",
        "options": [f"Statement {number + 1}.{option}{mark}" for option in range(1, _OPTIONS + 1)],
        "answer_index": number % _OPTIONS,
        "explanation": f"The material says so of {item['title']}.",
        "difficulty": "easy",
        "ref": item["ref"],
    }


def _flashcards(items: Sequence[Item], count: int, mark: str) -> Any:
    return {
        "flashcards": [
            {
                "front": f"Fact {number + 1} of {item['title']}?{mark}",
                "back": f"Fact {number + 1}{mark}",
                "ref": item["ref"],
            }
            for number in range(count)
            for item in [items[number % len(items)]]
        ]
    }


def _weak_points(items: Sequence[Item], _count: int, mark: str) -> Any:
    return {
        "weak_points": [
            {
                "topic": item["title"],
                "severity": "medium",
                "evidence": f"Wrong more often than right.{mark}",
                "ref": item["ref"],
            }
            for item in items[:1]
        ]
    }


def _mastery(items: Sequence[Item], _count: int, mark: str) -> Any:
    scores = [{"topic": i["title"], "score": 0.5, "ref": i["ref"]} for i in items[:1]]
    return {"summary": f"Steady progress.{mark}", "mastery": scores, "confidence": 0.5}


def _actions(items: Sequence[Item], _count: int, mark: str) -> Any:
    return {
        "actions": [
            {
                "title": f"Review {number + 1}{mark}",
                "priority": "medium",
                "minutes": 20,
                "reason": "It was wrong lately.",
                "ref": items[number % len(items)]["ref"],
            }
            for number in range(3)
        ]
    }


def _explanation(_items: Sequence[Item], _count: int, mark: str) -> Any:
    return {"score": 0.5, "clarity": 0.5, "gaps": [], "feedback": f"Go on like this.{mark}"}


def _recall(_items: Sequence[Item], _count: int, mark: str) -> Any:
    return {"score": 0.5, "missing": [], "feedback": f"Go on like this.{mark}"}


#: A word of the system prompt -> who writes that output. The more special one first.
_WRITERS: dict[str, Callable[[Sequence[Item], int, str], Any]] = {
    "flashcards": _flashcards,
    "weak_points": _weak_points,
    '"mastery"': _mastery,
    '"actions"': _actions,
    '"clarity"': _explanation,
    '"missing"': _recall,
    "questions": _questions,
}
