"""Proof that a proposed value is what a broken text says.

The text is walked beside the value. Tolerated: comments, a comma before a closing bracket, other
quotes, bare keys, Python's literals, full-width separators, escapes that JSON does not know, quotes
inside a text that cannot be its end. Invariant: every character of the text is accounted for, and
each bracket, colon and comma of the value stands in the text.
"""

from __future__ import annotations

import json
import re
from typing import Any

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|#[^\n]*", re.DOTALL)
#: A comment that stands for items the model left out.
_ELISION = re.compile(
    r"\.\.\.|…|\b(?:more|remaining|rest|others?|continue|omitted|etc|same|similar|repeat)\b"
    r"|省略|其余|更多|类似|同上|以此类推|等等",
    re.IGNORECASE,
)
_BLANKS = re.compile(r"\s*")
_LITERAL = re.compile(r"[A-Za-z]+")
_LITERALS: dict[str, Any] = {
    "true": True,
    "True": True,
    "false": False,
    "False": False,
    "null": None,
    "None": None,
}
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.])")
_BARE_KEY = re.compile(r"[A-Za-z_]\w*")
_CLOSING = {'"': '"', "'": "'", "“": "”"}
_AFTER_A_TEXT = ",:]}，："
_ESCAPES = {
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "/": "/",
    "\\": "\\",
    '"': '"',
    "'": "'",
}
_HAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_HEX = re.compile(r"u([0-9A-Fa-f]{4})")


def is_proved(value: Any, text: str) -> bool:
    """Does `text` say `value`, and nothing else?"""
    walk = _Walk(text)
    try:
        walk.value(value)
        walk.blanks()
    except _Disproved:
        return False
    return walk.position == len(text)


class _Disproved(Exception):
    pass


class _Walk:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def value(self, value: Any) -> None:
        self.blanks()
        if isinstance(value, dict):
            self._container("{", "}", list(value.items()), self._member)
        elif isinstance(value, list):
            self._container("[", "]", value, self.value)
        elif isinstance(value, str):
            self._string(value)
        elif value is None or isinstance(value, bool):
            self._literal(value)
        else:
            self._number(value)

    def blanks(self) -> None:
        """Skip blanks and comments."""
        while True:
            self.position = self._after_blanks(self.position)
            comment = _COMMENT.match(self.text, self.position)
            if comment is None:
                return
            if _ELISION.search(comment[0]):
                raise _Disproved
            self.position = comment.end()

    def _container(self, opening: str, closing: str, items: list[Any], walk: Any) -> None:
        self._expect(opening)
        for ordinal, item in enumerate(items):
            if ordinal:
                self._expect(",，")
            walk(item)
        self.blanks()
        if items and self._peek() in (",", "，"):
            self.position += 1
        self._expect(closing)

    def _member(self, member: tuple[str, Any]) -> None:
        key, value = member
        self.blanks()
        bare = _BARE_KEY.match(self.text, self.position)
        if bare and bare[0] == key:
            self.position = bare.end()
        else:
            self._string(key)
        self._expect(":：")
        self.value(value)

    def _literal(self, value: Any) -> None:
        word = _LITERAL.match(self.text, self.position)
        if word is None or word[0] not in _LITERALS or _LITERALS[word[0]] is not value:
            raise _Disproved
        self.position = word.end()

    def _number(self, value: float) -> None:
        digits = _NUMBER.match(self.text, self.position)
        if digits is None or len(digits[0]) > 20 or json.loads(digits[0]) != value:
            raise _Disproved
        self.position = digits.end()

    def _string(self, value: str) -> None:
        opening = self._peek()
        closing = _CLOSING.get(opening)
        if closing is None:
            raise _Disproved
        self.position += 1
        done, is_quoting = 0, False
        while (character := self._peek()) != closing or not self._may_end():
            if character == "„" or (character and character in opening + closing):
                is_quoting = self._quoting(character, is_quoting)
            meant = self._character()
            if not value.startswith(meant, done):
                raise _Disproved
            done += len(meant)
        if done != len(value) or is_quoting:
            raise _Disproved
        self.position += 1

    def _quoting(self, character: str, is_quoting: bool) -> bool:
        """After a quote inside a text: are we between quotes? It must look like one of a pair."""
        before = self.text[self.position - 1]
        after = self.text[self.position + 1 : self.position + 2]
        if character == "'" and _is_letter(before) and _is_letter(after):
            return is_quoting  # an apostrophe
        if is_quoting:
            looks_right = not before.isspace() and not _is_letter(after)
        else:
            looks_right = not _is_letter(before) and not after.isspace()
        if not looks_right:
            raise _Disproved
        return not is_quoting

    def _character(self) -> str:
        """Take what the next character or escape means."""
        character = self._peek()
        if not character:
            raise _Disproved
        self.position += 1
        if character != "\\":
            return character
        following = self._peek()
        if hexadecimal := _HEX.match(self.text, self.position):
            return self._code_units(hexadecimal)
        if following in _ESCAPES and following:
            self.position += 1
            return _ESCAPES[following]
        return "\\"

    def _code_units(self, first: re.Match[str]) -> str:
        pair = re.compile(r"u[0-9A-Fa-f]{4}(?:\\u[dD][c-fC-F][0-9A-Fa-f]{2})?").match(
            self.text, self.position
        )
        escaped = pair[0] if pair and first[1][:2].lower() in ("d8", "d9", "da", "db") else first[0]
        self.position += len(escaped)
        return str(json.loads(f'"\\{escaped}"'))

    def _may_end(self) -> bool:
        """Could the quote here end its text? Only what may follow a text says so."""
        after = self._after_blanks(self.position + 1)
        return after < len(self.text) and self.text[after] in _AFTER_A_TEXT

    def _expect(self, characters: str) -> None:
        self.blanks()
        following = self._peek()
        if not following or following not in characters:
            raise _Disproved
        self.position += 1

    def _peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def _after_blanks(self, position: int) -> int:
        blanks = _BLANKS.match(self.text, position)
        return blanks.end() if blanks else position


def _is_letter(character: str) -> bool:
    """Of a script that puts blanks between words."""
    return character.isalnum() and not _HAN.match(character)
