"""A snapshot's source items as plain sentences.

Invariant: a sentence is a run of its item's body, less markup and repeated blanks: nothing is
reworded.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from aijobs.engine.answer.canonical import output_hash

_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_LINE_MARK = re.compile(r"^\s*(?:#{1,6}\s+|[-*+•]\s+|\d{1,3}[.)、]\s+|>\s+)")
_EMPHASIS = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_SENTENCE_END = re.compile(
    r"(?:(?<=[.!?])|(?<=[.!?][\"”’)\]]))\s+(?=[A-Z0-9\"“(\[À-Þ])|(?<=[。！？])(?![”’」』）])"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|Dr|Mr|Mrs|Ms|St|vs?|cf|ca|approx|No|Fig|Eq|Prof|Jr|Sr|Vol|pp?)|\b[A-Z])\.$"
)
_HAN = re.compile(r"[\u3400-\u9fff]")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_ARTICLE = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)
_PARENTHESES = re.compile(r"\s*[(（][^()（）]*[)）]\s*")

BLANK = "____"
_MAX_TITLE = 200


@dataclass(frozen=True)
class Item:
    """A point of the source. `tags` as given."""

    ref: str
    title: str
    body: str
    tags: tuple[str, ...]

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The body's sentences in order, each once."""
        return tuple(dict.fromkeys(_sentences(self.body)))

    @cached_property
    def is_chinese(self) -> bool:
        text = self.title + self.body
        return len(_HAN.findall(text)) * 4 > len(text)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The title and its shorter forms, longest first."""
        bare = _PARENTHESES.sub(" ", self.title).strip()
        forms = (self.title, bare, _ARTICLE.sub("", bare))
        return tuple(sorted({form for form in forms if len(form) > 1}, key=lambda f: (-len(f), f)))

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The words of the body."""
        return words(self.body)

    def told(self, sentence: str) -> frozenset[str]:
        """The words that a sentence adds to the title."""
        return words(sentence) - self._title_words

    def is_named_in(self, text: str) -> bool:
        return any(pattern.search(text) for pattern in self._patterns)

    def blanked(self, sentence: str) -> str | None:
        """`sentence` with this item's name left out; None when it is not named."""
        for pattern in self._patterns:
            text, count = pattern.subn(BLANK, sentence)
            if count and not self.is_named_in(text):
                return text
        return None

    @cached_property
    def _title_words(self) -> frozenset[str]:
        return words(self.title)

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], ...]:
        return tuple(_name_pattern(name) for name in self.names)


@dataclass(frozen=True, slots=True)
class Studied:
    """How studying an item went: scored attempts, their mean (0-1), day last seen, mean time."""

    attempts: int
    accuracy: float | None
    last_seen: str | None
    mean_duration_ms: float | None


NEVER_STUDIED = Studied(0, None, None, None)


@dataclass(frozen=True)
class Material:
    """What a snapshot offers. `seed` is a hash of the snapshot."""

    title: str
    items: tuple[Item, ...]
    parameters: Mapping[str, Any]
    seed: str
    studied: Mapping[str, Studied]
    answer_text: str

    def study_of(self, item: Item) -> Studied:
        return self.studied.get(item.ref, NEVER_STUDIED)

    def random(self, purpose: str) -> random.Random:
        """Random numbers that are the same for the same snapshot and purpose."""
        return random.Random(f"{self.seed}:{purpose}")


def read_material(snapshot: Mapping[str, Any]) -> Material:
    """The material of a snapshot, the least mastered items first."""
    accuracy = {row["ref"]: row.get("accuracy") for row in snapshot.get("statistics") or ()}
    items = [_item(raw) for raw in snapshot["items"]]
    items.sort(key=lambda item: 0.5 if accuracy.get(item.ref) is None else accuracy[item.ref])
    return Material(
        title=_plain(str(snapshot["target"].get("title") or "")),
        items=tuple(items),
        parameters=snapshot.get("parameters") or {},
        seed=output_hash(dict(snapshot)),
        studied={row["ref"]: _studied(row) for row in snapshot.get("statistics") or ()},
        answer_text=str(snapshot.get("answer_text") or ""),
    )


def fold(text: str) -> str:
    """For comparing texts: case, blanks and outer punctuation do not count."""
    return re.sub(r"\s+", " ", text).strip(" \t.。,，;；:：!！?？\"'“”").casefold()


def words(text: str) -> frozenset[str]:
    """The words of a text that carry meaning; for Chinese, its pairs of characters."""
    found = {word.casefold() for word in _WORD.findall(text)}
    latin = {word for word in found if not _HAN.search(word) and word not in _COMMON_WORDS}
    runs = [run for word in found for run in re.findall(r"[\u3400-\u9fff]+", word)]
    return frozenset(latin) | {
        run[at : at + 2] for run in runs for at in range(max(1, len(run) - 1))
    }


def _studied(row: Mapping[str, Any]) -> Studied:
    return Studied(
        attempts=int(row.get("attempts") or 0),
        accuracy=row.get("accuracy"),
        last_seen=row.get("last_seen"),
        mean_duration_ms=row.get("mean_duration_ms"),
    )


def _item(raw: Mapping[str, Any]) -> Item:
    return Item(
        ref=str(raw["ref"]),
        title=_plain(str(raw.get("title") or ""))[:_MAX_TITLE] or str(raw["ref"]),
        body=_CONTROLS.sub("", str(raw.get("body") or "")),
        tags=tuple(str(tag) for tag in raw.get("tags") or ()),
    )


def _sentences(body: str) -> list[str]:
    lines = _CODE.sub("\n", body).splitlines()
    return [
        sentence
        for line in lines
        if not line.lstrip().startswith("|")
        for sentence in _split(_plain(line))
    ]


def _split(line: str) -> list[str]:
    parts: list[str] = []
    for part in _SENTENCE_END.split(line):
        if parts and _ABBREVIATION.search(parts[-1]):
            parts[-1] = f"{parts[-1]} {part}"
        else:
            parts.append(part)
    return [part.strip() for part in parts if any(map(str.isalnum, part))]


def _plain(line: str) -> str:
    text = _EMPHASIS.sub(r"\2", _LINE_MARK.sub("", _CONTROLS.sub("", line)))
    return re.sub(r"\s+", " ", text).strip()


def _name_pattern(name: str) -> re.Pattern[str]:
    escaped = re.escape(name)
    if _HAN.search(name):
        return re.compile(escaped, re.IGNORECASE)
    return re.compile(rf"(?<!\w){escaped}(?:e?s)?(?!\w)", re.IGNORECASE)


_COMMON_WORDS = frozenset(
    re.findall(
        r"\w+",
        """a an and are as at be been by can do does for from had has have how if in into is it its
    may more most not of on one or other some such than that the their them then there these they
    this those to two was were what when where which while who will with would""",
    )
)
