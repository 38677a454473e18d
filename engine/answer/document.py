"""The one JSON document in a text that also holds thinking, fences or prose.

Invariant: two different documents, an unfinished one, or one inside a tool call or inside thinking
are never taken for the answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from aijobs.engine.answer.canonical import canonical_json
from aijobs.engine.answer.strict import NotJson, decode_at

_OPENER = re.compile(r"[{\[]")
#: An opener that begins a document, not a phrase: a key, a quote, a comment or an object follows.
_LIKE_DOCUMENT = re.compile(
    r"""(?: \{(?:\s|\\[nrt])*(?: \\?["'“] | [A-Za-z_]\w*\s*[:：] | // | /\* | \#\s )
          | \[(?:\s|\\[nrt])*(?: \\?["'“] | \{ | // | /\* ) )""",
    re.VERBOSE,
)
#: Where thinking begins or ends, as the families of models mark it.
_TAG = re.compile(
    r"""< \s*+ (?P<slash>/?) \s*+ (?:\w++:)?
            (?: think | thinking | thoughts? | reasoning | reflection | analysis | scratchpad
              | cot | chain_of_thought | draft | 思考 | 推理 | 草稿 )
            (?: \s+ [\w-]+= [^<>]*+ | \s*+ ) >
      | ◁ (?P<stroke>/?) think ▷
      | \[ (?P<solidus>/?) (?: think | thinking ) \]
      | <\|\ ? (?: (?P<end>end_of_ | /) | begin_of_ )? (?: thoughts? | think | thinking ) \ ?\|>
      | <\|channel\|> \s* (?: (?P<final>final) | analysis | commentary ) \b""",
    re.IGNORECASE | re.VERBOSE,
)
_TOOL_CALL = re.compile(
    r"DSML|tool[_▁ ]?calls?|function[_▁ ]?calls?|<invoke|<parameter|<function|\[TOOL", re.IGNORECASE
)
#: What stands around a part of a document whose beginning or end is missing.
_BEFORE_A_PART = re.compile(r"[\"'”]\s*[:：]\s*\Z|[\"'”\]}\d]\s*[,，]\s*\Z")
_AFTER_A_PART = re.compile(r"\s*[,:\"'“]")
_NOTHING = re.compile(r"\s*(?:(?:```|~~~)\w*\s*)?")
_MAX_TAGS = 50
_MAX_PHRASES = 500


@dataclass(frozen=True, slots=True)
class Document:
    """A document that parses, and where it stands in its text."""

    start: int
    end: int
    value: Any
    raw_controls: bool


@dataclass(frozen=True, slots=True)
class Found:
    value: Any
    repairs: tuple[str, ...]


class BrokenDocument(Exception):
    """The only document in the text does not parse: `text` is what it would be."""

    def __init__(self, text: str, repairs: tuple[str, ...]) -> None:
        super().__init__("The JSON is not valid.")
        self.text = text
        self.repairs = repairs


def find_document(text: str) -> Found:
    """Raises NotJson with a sentence, Unacceptable, BrokenDocument."""
    answer = _without_thinking(text)
    documents, broken_at = _scan(answer)
    repairs = ("thinking left out",) if answer != text else ()
    if broken_at is not None:
        raise _broken(answer, documents, broken_at, repairs)
    if not documents:
        raise NotJson("There is no JSON document in the answer.")
    if len({canonical_json(document.value) for document in documents}) > 1:
        raise NotJson("There is more than one JSON document in the answer.")
    outside = _outside(answer, documents)
    _check_outside(outside)
    if _is_part(outside, documents):
        raise NotJson("The JSON document is not complete.")
    return Found(documents[0].value, (*repairs, *_names(outside, documents)))


def _without_thinking(text: str) -> str:
    """`text` without its thinking blocks; a tag inside a document is data."""
    if len(_TAG.findall(text)) > _MAX_TAGS:
        raise NotJson("There is more thinking than answer.")
    rest = _without_leading_blocks(text)
    tags = _tags_outside(rest)
    while tags:
        rest = _cut(rest, tags)
        tags = _tags_outside(rest)
    return rest


def _without_leading_blocks(text: str) -> str:
    while (opening := _TAG.match(text.lstrip())) and not _closes(opening):
        rest = text.lstrip()[opening.end() :]
        closing = next(filter(_closes, _TAG.finditer(rest)), None)
        if closing is None:
            raise NotJson("The answer never came to an end of its thinking.")
        text = rest[closing.end() :]
    return text


def _tags_outside(text: str) -> list[re.Match[str]]:
    tags = list(_TAG.finditer(text))
    if not tags:
        return []
    documents, broken_at = _scan(text)
    if broken_at is not None:
        return _closing_before_whole_document(text, tags)
    return [
        tag
        for tag in tags
        if not any(document.start < tag.start() < document.end for document in documents)
    ]


def _closing_before_whole_document(text: str, tags: list[re.Match[str]]) -> list[re.Match[str]]:
    """A draft in the thinking may be broken; then a whole document after the last tag decides."""
    last = tags[-1]
    if not _closes(last):
        return []
    documents, broken_at = _scan(text[last.end() :])
    return [last] if documents and broken_at is None else []


def _cut(text: str, tags: list[re.Match[str]]) -> str:
    first = tags[0]
    if _closes(first):
        return text[first.end() :]
    closing = next(filter(_closes, tags), None)
    if closing is None:
        raise NotJson("The answer never came to an end of its thinking.")
    return text[: first.start()] + text[closing.end() :]


def _closes(tag: re.Match[str]) -> bool:
    return any(tag.groups())


def _scan(text: str) -> tuple[list[Document], int | None]:
    """(documents that parse, start of the first that does not)."""
    documents: list[Document] = []
    position = phrases = 0
    while opener := _OPENER.search(text, position):
        start = opener.start()
        document = _document_at(text, start)
        if document is not None:
            position = document.end
            if _may_be_answer(document.value):
                documents.append(document)
        elif _LIKE_DOCUMENT.match(text, start):
            return documents, start
        else:
            position = start + 1
            phrases += 1
            if phrases > _MAX_PHRASES:
                raise NotJson("There is more prose than JSON in the answer.")
    return documents, None


def _document_at(text: str, start: int) -> Document | None:
    for raw_controls in (False, True):
        try:
            value, end = decode_at(text, start, raw_controls=raw_controls)
        except NotJson:
            continue
        return Document(start, end, value, raw_controls)
    return None


def _may_be_answer(value: Any) -> bool:
    """Prose may hold an empty object or a list of numbers."""
    if isinstance(value, dict):
        return bool(value)
    return any(isinstance(item, dict) for item in value)


def _broken(
    text: str, documents: list[Document], start: int, repairs: tuple[str, ...]
) -> Exception:
    end = max(text.rfind("}"), text.rfind("]")) + 1
    outside = [text[:start], text[end:]]
    if documents:
        return NotJson("There is more than one JSON document in the answer.")
    if end <= start or _AFTER_A_PART.match(outside[1]):
        return NotJson("The JSON document is not complete.")
    _check_outside(outside)
    return BrokenDocument(text[start:end], (*repairs, *_prose(outside)))


def _is_part(outside: list[str], documents: list[Document]) -> bool:
    """Does what stands around say that a document's beginning or end is missing?

    A closing bracket too many is no such sign after an object with nothing before it.
    """
    before, after = outside[0], outside[-1]
    if _BEFORE_A_PART.search(before) or _AFTER_A_PART.match(after):
        return True
    starts_clean = isinstance(documents[0].value, dict) and _NOTHING.fullmatch(before)
    return not starts_clean and after.lstrip()[:1] in ("}", "]")


def _outside(text: str, documents: list[Document]) -> list[str]:
    bounds = [0, *(edge for document in documents for edge in (document.start, document.end)), None]
    return [text[bounds[at] : bounds[at + 1]] for at in range(0, len(bounds), 2)]


def _check_outside(outside: list[str]) -> None:
    if any(_TOOL_CALL.search(part) for part in outside):
        raise NotJson("Answer with the JSON document as text, not with a tool call.")


def _names(outside: list[str], documents: list[Document]) -> tuple[str, ...]:
    same = ("repeated document",) if len(documents) > 1 else ()
    raw = any(document.raw_controls for document in documents)
    return (*same, *_prose(outside), *(("control characters in strings",) if raw else ()))


def _prose(outside: list[str]) -> tuple[str, ...]:
    return ("text around the document left out",) if any(map(str.strip, outside)) else ()
