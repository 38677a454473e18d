"""Wrong options from other items, with care that none of them is right as well.

Invariant: a distractor differs from the answer after folding, is not named in the question's
sentence, and the item it comes from does not say what the sentence says.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable

from aijobs.engine.offline.material import Item, Material, fold

WANTED = 3
_ALIKE = 0.6
_NUMBER = re.compile(r"(?<![\w.,/-])\d{1,4}(?![\w/-]|[.,]\d)")

_BOUND = re.compile(
    r"\b(?:up to|at (?:most|least)|(?:more|less|fewer|greater|larger|smaller|higher|lower) than"
    r"|over|under|above|below|beyond|maximum|minimum|between|exceed\w*"
    r"|as (?:many|much|few|little) as)\b|\bor (?:more|less|fewer)\b"
    r"|\d\s*(?:to|or|and|至|到|或)\s*\d"
    r"|不超过|至少|至多|最多|最少|超过|以上|以下|以内|多于|少于|大于|小于|不到|不足",
    re.IGNORECASE,
)
_ROUGH = re.compile(
    r"\b(?:about|around|approximately|roughly|nearly|almost|some|circa|ca|c)\b|约|左右|将近|大概|近",
    re.IGNORECASE,
)
_YEARS = range(1000, 2101)
_HALVED_FROM = 20

_DENIAL = re.compile(
    r"\b(?:not|no|never|nor|neither|cannot|only|\w+n['’]t)\b|不|没|非|无|未", re.IGNORECASE
)


def other_titles(material: Material, item: Item, sentence: str, order: random.Random) -> list[str]:
    """Titles that cannot stand where the item's own stands."""
    told = item.told(sentence)
    titles = (
        other.title
        for other in _nearest(material, item, order)
        if not _overlap(other.title, item.title)
        and not other.is_named_in(sentence)
        and not _says(other, told, sentence)
    )
    return _distinct(titles, item.title)


def other_statements(
    material: Material, item: Item, sentence: str, order: random.Random
) -> list[str]:
    """Statements about other things, none of which the item makes too."""
    candidates = (
        _statement(other, item, order)
        for other in _nearest(material, item, order)
        if not _overlap(other.title, item.title)
    )
    return _distinct((text for text in candidates if text is not None), sentence)


def other_numbers(material: Material, item: Item, number: str, order: random.Random) -> list[str]:
    """Numbers of as many digits from other items, which the item does not mention."""
    own = set(numbers(item.body))
    found = (
        candidate
        for other in _nearest(material, item, order)
        for candidate in numbers(" ".join(other.sentences))
        if len(candidate) == len(number) and candidate not in own
    )
    return _distinct(found, number)


def numbers(text: str) -> list[str]:
    """The plain numbers of a text, up to four digits."""
    return _NUMBER.findall(text)


def replace_number(text: str, number: str, replacement: str) -> str | None:
    """`text` with its one occurrence of `number` replaced; None when it occurs more than once."""
    if numbers(text).count(number) != 1:
        return None
    return _NUMBER.sub(lambda match: replacement if match[0] == number else match[0], text)


def contradicting(sentence: str, number: str) -> str | None:
    """A number that makes the sentence false: twice or half as much, ten years later for a year.

    None where it could still be true: beside a bound or in a range, and for a rough year.
    """
    value = int(number)
    if _BOUND.search(sentence):
        return None
    if value in _YEARS:
        return None if _ROUGH.search(sentence) else str(value + 10)
    other = 2 * value if value < _HALVED_FROM else value // 2
    return str(other) if other != value else None


def denied(item: Item, sentence: str) -> str | None:
    """ "X is ..." as "X is not ..."; None where the verb is not plain to see, or denied already."""
    if _DENIAL.search(sentence):
        return None
    subjects = "|".join(re.escape(name) for name in item.names)
    if item.is_chinese:
        return _only(re.sub(rf"^({subjects}|它|这)是(?!否|不)", r"\1不是", sentence), sentence)
    subject = rf"(?:(?:the|an?)\s+)?(?:{subjects}|it|they|this)"
    verb = r"(is|are|was|were|can|must)"
    return _only(re.sub(rf"^({subject})\s+{verb}\b", r"\1 \2 not", sentence, flags=re.I), sentence)


def is_statement(sentence: str, shortest: int = 12) -> bool:
    """Long enough to say something, short enough for an option, and no question."""
    return (
        shortest <= len(sentence.encode()) and len(sentence) <= 300 and sentence[-1] not in "?？:："
    )


def _only(changed: str, original: str) -> str | None:
    return changed if changed != original else None


def _nearest(material: Material, item: Item, order: random.Random) -> list[Item]:
    """The other items, those that share a tag first."""
    others = [other for other in material.items if other is not item]
    order.shuffle(others)
    return sorted(
        others, key=lambda other: (other.is_chinese != item.is_chinese, not _related(other, item))
    )


def _related(first: Item, second: Item) -> bool:
    return not set(first.tags).isdisjoint(second.tags)


def _statement(other: Item, item: Item, order: random.Random) -> str | None:
    told = fold(" ".join(item.sentences))
    fitting = [
        sentence
        for sentence in other.sentences
        if is_statement(sentence, 1)
        and not item.is_named_in(sentence)
        and fold(sentence) not in told
        and not _says(item, other.told(sentence), sentence)
    ]
    return order.choice(fitting[:3]) if fitting else None


def _says(item: Item, told: frozenset[str], sentence: str) -> bool:
    """Does `item`'s body hold most of `told`, which is what `sentence` says of another?"""
    if not told:
        return fold(sentence) in fold(item.body)
    return len(told & item.vocabulary) / len(told) >= _ALIKE


def _overlap(first: str, second: str) -> bool:
    one, two = fold(first), fold(second)
    return one in two or two in one


def _distinct(texts: Iterable[str], answer: str) -> list[str]:
    seen = {fold(answer)}
    kept: list[str] = []
    for text in texts:
        if fold(text) not in seen and len(text) <= 500:
            seen.add(fold(text))
            kept.append(text)
        if len(kept) == WANTED:
            break
    return kept
