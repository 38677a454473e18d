"""Strict JSON: what the standard says and a database can store.

Invariant: a value that comes out holds finite numbers, integers under 64 bits, no key twice with
different values, bounded depth, and text without U+0000 and lone surrogates.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from aijobs.engine.answer.canonical import canonical_json
from aijobs.engine.sentence import Sentence

MAX_DEPTH = 32
_MAX_DIGITS = 18
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class NotJson(Exception):
    """The text is not JSON; something local may be wrong with it."""


class Unacceptable(Exception):
    """The text says something that no repair may change: the sentence tells what."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(sentence)
        self.sentence = sentence


def loads(text: str) -> Any:
    """The one document that `text` is. Raises NotJson, Unacceptable."""
    start = len(text) - len(text.lstrip(" \t\r\n"))
    value, end = decode_at(text, start)
    if text[end:].strip(" \t\r\n"):
        raise NotJson
    return value


def decode_at(text: str, start: int, *, raw_controls: bool = False) -> tuple[Any, int]:
    """(value, end) of the document that begins at `start`. Raises NotJson, Unacceptable.

    `raw_controls` lets line breaks and tabs stand unescaped in strings.
    """
    _check_depth(text, start)
    decoder = _RAW if raw_controls else _STRICT
    try:
        value, end = decoder.raw_decode(text, start)
    except json.JSONDecodeError:
        raise NotJson from None
    except RecursionError:
        raise Unacceptable(Sentence("The JSON is nested too deeply.")) from None
    check_text(value)
    return value, end


def check_text(value: Any) -> None:
    """Raise Unacceptable when a string cannot be stored."""
    if isinstance(value, str):
        if _UNSTORABLE.search(value):
            raise Unacceptable(Sentence("A text holds U+0000 or half of a surrogate pair."))
    elif isinstance(value, list):
        for item in value:
            check_text(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            check_text(key)
            check_text(item)


def _check_depth(text: str, start: int) -> None:
    depth = 0
    for match in _TOKEN.finditer(text, start):
        token = match[0]
        depth += (token in "[{") - (token in "]}")
        if depth > MAX_DEPTH:
            raise Unacceptable(Sentence("The JSON is nested too deeply."))
        if depth <= 0:
            return


def _integer(digits: str) -> int:
    if len(digits.lstrip("-")) > _MAX_DIGITS:
        raise Unacceptable(Sentence("A number has too many digits."))
    return int(digits)


def _number(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise Unacceptable(Sentence("A number is too large."))
    return number


def _constant(name: str) -> Any:
    raise Unacceptable(Sentence("{name} is not a number in JSON.", name=name))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found and _differ(found[key], value):
            raise Unacceptable(Sentence("A key occurs twice in one object with different values."))
        found[key] = value
    return found


def _differ(first: Any, second: Any) -> bool:
    return canonical_json(first) != canonical_json(second)


_STRICT, _RAW = (
    json.JSONDecoder(
        object_pairs_hook=_object,
        parse_int=_integer,
        parse_float=_number,
        parse_constant=_constant,
        strict=strict,
    )
    for strict in (True, False)
)
