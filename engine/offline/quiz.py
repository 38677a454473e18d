"""Multiple-choice questions: gaps, headings and statements, each decided by one sentence of one
item.

Invariant: the right option stands in the notes on the item that `ref` names, and no two stems are
equal.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from aijobs.engine.offline.distractors import (
    WANTED,
    contradicting,
    denied,
    is_statement,
    numbers,
    other_numbers,
    other_statements,
    other_titles,
    replace_number,
)
from aijobs.engine.offline.material import BLANK, Item, Material, fold
from aijobs.engine.offline.turns import take_turns
from aijobs.engine.offline.wording import wording_for

_MIN_WORDS = 3


@dataclass(frozen=True, slots=True)
class Draft:
    """A question before its options are in order."""

    item: Item
    sentence: str
    stem: str
    answer: str
    wrong: tuple[str, ...]
    difficulty: str


def quiz(material: Material, room: int, check: Callable[[], None]) -> dict[str, Any]:
    """Up to the number asked, fewer when the notes hold no more."""
    wanted = int(material.parameters.get("questionCount") or 5)
    positions = _positions(material.random("positions"))
    questions: list[dict[str, Any]] = []
    stems: set[str] = set()
    used = 0
    for draft in _drafts(material):
        check()
        if len(questions) == wanted:
            break
        if fold(draft.stem) in stems:
            continue
        question = _question(draft, positions)
        used += len(json.dumps(question, ensure_ascii=False).encode()) + 2
        if questions and used > room - 64:
            break
        stems.add(fold(draft.stem))
        questions.append(question)
    return {"questions": questions}


def _drafts(material: Material) -> Iterator[Draft]:
    """One question of each item, then a second of each, and so on."""
    found = False
    for draft in take_turns(_of_item(material, item) for item in material.items):
        found = True
        yield draft
    if not found:
        yield from _of_last_resort(material)


def _of_last_resort(material: Material) -> Iterator[Draft]:
    """Where no item differs from another: what they say, or else what they are about."""
    claims = [
        claim
        for item in material.items
        for claim in _claims(item, material.random(item.ref), alone=True)
    ]
    yield from claims or [_membership(material, item) for item in material.items]


def _of_item(material: Material, item: Item) -> Iterator[Draft]:
    """All kinds of one sentence's questions are not asked in a row: kinds first, then sentences."""
    order = material.random(item.ref)
    kinds: list[Callable[[Material, Item, str, random.Random], Draft | None]]
    kinds = [_gap, _statement, _number]
    asked: set[tuple[str, str]] = set()
    for shift in range(len(kinds)):
        for position, sentence in enumerate(item.sentences):
            kind = kinds[(position + shift) % len(kinds)]
            draft = kind(material, item, sentence, order)
            if draft is not None and (draft.sentence, draft.stem) not in asked:
                asked.add((draft.sentence, draft.stem))
                yield draft
    yield from _claims(item, order, alone=len(material.items) == 1)


def _gap(material: Material, item: Item, sentence: str, order: random.Random) -> Draft | None:
    """The item's name left out of a sentence, or the heading over one that does not name it."""
    if not is_statement(sentence) or len(item.told(sentence)) < _MIN_WORDS:
        return None
    wrong = other_titles(material, item, sentence, order)
    if not wrong:
        return None
    wording, blanked = wording_for(item), item.blanked(sentence)
    stem = (
        wording.heading.format(text=sentence)
        if blanked is None
        else wording.term.format(text=blanked)
    )
    return Draft(
        item, sentence, stem, item.title, tuple(wrong), "medium" if blanked is None else "easy"
    )


def _statement(material: Material, item: Item, sentence: str, order: random.Random) -> Draft | None:
    """Which of these statements do the notes make about it?"""
    if not is_statement(sentence, 1):
        return None
    wrong = other_statements(material, item, sentence, order)
    if not wrong:
        return None
    stem = wording_for(item).statement.format(title=item.title)
    return Draft(item, sentence, stem, sentence, tuple(wrong), "medium")


def _number(material: Material, item: Item, sentence: str, order: random.Random) -> Draft | None:
    """A number left out of a sentence."""
    for number in numbers(sentence):
        text = replace_number(sentence, number, BLANK)
        wrong = other_numbers(material, item, number, order)
        if text is not None and wrong and is_statement(sentence):
            stem = wording_for(item).number.format(title=item.title, text=text)
            return Draft(item, sentence, stem, number, tuple(wrong), "hard")
    return None


def _claims(item: Item, order: random.Random, *, alone: bool) -> Iterator[Draft]:
    """True or false, where a sentence can be made false; of a lone item also where it cannot."""
    lie = order.random() < 0.5
    for sentence in item.sentences:
        if not is_statement(sentence):
            continue
        false = _falsified(item, sentence)
        lie = lie is (false is None)
        if false is not None and lie:
            yield _claim(item, sentence, false, is_true=False)
        elif alone or false is not None:
            yield _claim(item, sentence, sentence, is_true=True)


def _claim(item: Item, sentence: str, text: str, *, is_true: bool) -> Draft:
    wording = wording_for(item)
    stem = wording.claim.format(title=item.title, text=text)
    return Draft(
        item, sentence, stem, wording.truth(is_true), (wording.truth(not is_true),), "easy"
    )


def _falsified(item: Item, sentence: str) -> str | None:
    """The sentence with another number, or denied: what the notes do not say."""
    return _with_other_number(item, sentence) or denied(item, sentence)


def _with_other_number(item: Item, sentence: str) -> str | None:
    for number in numbers(sentence):
        other = contradicting(sentence, number)
        text = None if other is None else replace_number(sentence, number, other)
        if text is not None and other not in numbers(item.body):
            return text
    return None


def _membership(material: Material, item: Item) -> Draft:
    """For notes without a body: all they say is what they are about."""
    wording = wording_for(item)
    stem = wording.membership.format(title=item.title, text=material.title)
    return Draft(item, material.title, stem, wording.true, (wording.false,), "easy")


def _positions(order: random.Random) -> dict[int, Iterator[int]]:
    """By number of options: every position as often as any other, in no order that shows."""
    return {size: _spread(size, order) for size in range(2, WANTED + 2)}


def _spread(size: int, order: random.Random) -> Iterator[int]:
    while True:
        positions = list(range(size))
        order.shuffle(positions)
        yield from positions


def _question(draft: Draft, positions: dict[int, Iterator[int]]) -> dict[str, Any]:
    options = list(draft.wrong)
    position = next(positions[len(options) + 1])
    options.insert(position, draft.answer)
    explanation = wording_for(draft.item).explanation
    return {
        "question": draft.stem,
        "options": options,
        "answer_index": position,
        "explanation": explanation.format(title=draft.item.title, text=draft.sentence),
        "difficulty": draft.difficulty,
        "ref": draft.item.ref,
    }
