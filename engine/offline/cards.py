"""Flashcards: a topic and what the notes say of it, then gaps and headings of single sentences.

Invariant: a card's back stands in the notes on the item that `ref` names, and no two fronts are
equal.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from aijobs.engine.offline.distractors import is_statement, numbers, replace_number
from aijobs.engine.offline.material import BLANK, Item, Material, fold
from aijobs.engine.offline.turns import take_turns
from aijobs.engine.offline.wording import wording_for

_BACK_CHARACTERS = 400
_MIN_WORDS = 3
_MAX_TAGS = 3


def flashcards(material: Material, room: int, check: Callable[[], None]) -> dict[str, Any]:
    """Up to the number asked, fewer when the notes hold no more."""
    wanted = int(material.parameters.get("cardCount") or 10)
    cards: list[dict[str, Any]] = []
    fronts: set[str] = set()
    used = 0
    for item, front, back in _sides(material):
        check()
        if len(cards) == wanted:
            break
        if fold(front) in fronts:
            continue
        card = _card(item, front, back)
        used += len(json.dumps(card, ensure_ascii=False).encode()) + 2
        if cards and used > room - 64:
            break
        fronts.add(fold(front))
        cards.append(card)
    return {"flashcards": cards}


def _sides(material: Material) -> Iterator[tuple[Item, str, str]]:
    """The first card of each item, then the second of each, and so on."""
    found = False
    for side in take_turns(_of_item(material, item) for item in material.items):
        found = True
        yield side
    if not found:
        for item in material.items:
            yield (
                item,
                wording_for(item).subject.format(title=item.title),
                material.title or item.title,
            )


def _of_item(material: Material, item: Item) -> Iterator[tuple[Item, str, str]]:
    wording = wording_for(item)
    if item.sentences:
        yield item, wording.explain.format(title=item.title), _back(item)
    for sentence in item.sentences:
        if not is_statement(sentence) or len(item.told(sentence)) < _MIN_WORDS:
            continue
        for front, back in _gaps(item, sentence):
            yield item, front, back
        if item.blanked(sentence) is None and _is_only_here(material, item, sentence):
            yield item, wording.which_point.format(text=sentence), item.title


def _gaps(item: Item, sentence: str) -> Iterator[tuple[str, str]]:
    wording = wording_for(item)
    blanked = item.blanked(sentence)
    if blanked is not None:
        yield wording.which_point.format(text=blanked), item.title
    for number in numbers(sentence)[:1]:
        text = replace_number(sentence, number, BLANK)
        if text is not None:
            yield wording.complete.format(title=item.title, text=text), number


def _is_only_here(material: Material, item: Item, sentence: str) -> bool:
    return not any(sentence in other.sentences for other in material.items if other is not item)


def _back(item: Item) -> str:
    """The first sentences, as many as one recalls whole."""
    separator = "" if item.is_chinese else " "
    back = item.sentences[0]
    for sentence in item.sentences[1:]:
        if len(back) + len(sentence) > _BACK_CHARACTERS:
            break
        back += separator + sentence
    return back[:4000]


def _card(item: Item, front: str, back: str) -> dict[str, Any]:
    card: dict[str, Any] = {"front": front, "back": back, "ref": item.ref}
    tags = [tag for tag in item.tags if tag.strip() and len(tag) <= 60]
    if tags:
        card["tags"] = tags[:_MAX_TAGS]
    return card
