"""Judging what a learner wrote of one point: which of its sentences come back in their own words.

Invariant: the score is the share of the point's meaningful words that are in recalled sentences, so
an empty answer has 0, the point's own text 1, and nothing the answer asks for changes either.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aijobs.engine.offline.material import Item, Material, words

#: Share of a sentence's words that must come back for it to count as recalled.
RECALLED = 0.5
_CLEAR_WORDS, _DENSE_WORDS = 20, 45
_MOST_NOTES = 50
_LONGEST_NOTE = 500

Check = Callable[[], None]


@dataclass(frozen=True, slots=True)
class _Recall:
    score: float
    recalled: tuple[str, ...]
    missing: tuple[str, ...]


def active_recall(material: Material, room: int, check: Check) -> dict[str, Any]:
    """Score and the sentences that did not come back."""
    item = material.items[0]
    recall = _compare(item, material.answer_text)
    return {
        "score": recall.score,
        "missing": _notes(recall),
        "feedback": _feedback(item, recall),
    }


def feynman_evaluation(material: Material, room: int, check: Check) -> dict[str, Any]:
    """The same, with the clarity of the explanation: short sentences are clear."""
    item = material.items[0]
    recall = _compare(item, material.answer_text)
    return {
        "score": recall.score,
        "clarity": _clarity(material.answer_text),
        "gaps": _notes(recall),
        "feedback": _feedback(item, recall),
    }


def _compare(item: Item, answer: str) -> _Recall:
    said = words(answer)
    weights = {sentence: words(sentence) - words(item.title) for sentence in item.sentences}
    weights = {sentence: meant for sentence, meant in weights.items() if meant}
    if not weights:  # nothing but a title: it is recalled when it is named
        named = item.is_named_in(answer)
        return _Recall(float(named), (item.title,) if named else (), () if named else (item.title,))
    back = {s for s, meant in weights.items() if len(meant & said) >= RECALLED * len(meant)}
    total = sum(map(len, weights.values()))
    score = sum(len(weights[sentence]) for sentence in back) / total
    return _Recall(
        score=round(score, 2),
        recalled=tuple(sentence for sentence in weights if sentence in back),
        missing=tuple(sentence for sentence in weights if sentence not in back),
    )


def _notes(recall: _Recall) -> list[str]:
    return [sentence[:_LONGEST_NOTE] for sentence in recall.missing[:_MOST_NOTES]]


def _clarity(answer: str) -> float:
    """1 up to 20 words a sentence, 0 from 45; two Chinese characters count as a word."""
    sentences = [part for part in re.split(r"[.!?。！？\n]+", answer) if part.strip()]
    if not sentences:
        return 0.0
    length = sum(map(_length, sentences)) / len(sentences)
    share = (_DENSE_WORDS - length) / (_DENSE_WORDS - _CLEAR_WORDS)
    return round(min(1.0, max(0.0, share)), 2)


def _length(sentence: str) -> float:
    han = len(re.findall(r"[\u3400-\u9fff]", sentence))
    return han / 2 + len(re.findall(r"[A-Za-z0-9]+", sentence))


def _feedback(item: Item, recall: _Recall) -> str:
    whole, part = len(recall.recalled) + len(recall.missing), len(recall.recalled)
    percent = round(100 * recall.score)
    if item.is_chinese:
        told = f"“{item.title}”共有 {whole} 个要点，你答出了 {part} 个（{percent} %）。"
        return told + ("请再看一遍遗漏的部分。" if recall.missing else "全部答出，很好。")
    told = f"You recalled {part} of {whole} statements about “{item.title}” ({percent} %). "
    return told + ("Look at the missing ones again." if recall.missing else "Nothing is missing.")
