"""Taking personal data out of what a learner wrote, before anybody else sees it.

Invariant: the same text gives the same result, a redacted text stays as it is, and what is not
personal data stays letter by letter. The time grows with the length of the text alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from aijobs.engine.personal_data import KINDS, RULES, Rule

#: Names the rules; a snapshot keeps it.
REDACTION_VERSION = "1"

_FULL_WIDTH = {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)}
_DASHES = dict.fromkeys([*range(0x2010, 0x2016), 0x2212], "-")
_BLANKS = dict.fromkeys([0x00A0, 0x2007, 0x202F, 0x3000], " ")
#: One character for one, so that places in the plain text are places in the text.
_PLAIN: dict[int, int | str] = {**_FULL_WIDTH, **_DASHES, **_BLANKS}

_HAN = "\u3400-\u9fff"
_MARK = rf"\[(?:{'|'.join(KINDS)})\]"
_SHORTEST_NAME = 2


def redact(text: str, *, names: tuple[str, ...] = ()) -> str:
    """`text` with personal data and the learner's own `names` replaced by their kind in brackets.

    Kinds: mail, phone, id, card, token, name. Of an address with a token only the token goes.
    """
    while (redacted := _once(text, names)) != text:  # what stood beside it may be plain to see now
        text = redacted
    return text


def redact_all(value: Any, *, names: tuple[str, ...] = ()) -> Any:
    """A JSON value with every text in it redacted."""
    if isinstance(value, str):
        return redact(value, names=names)
    if isinstance(value, list):
        return [redact_all(item, names=names) for item in value]
    if isinstance(value, dict):
        return {redact(key, names=names): redact_all(v, names=names) for key, v in value.items()}
    return value


def _once(text: str, names: tuple[str, ...]) -> str:
    for rule in RULES:
        text = _without(text, rule)
    for name in names:
        text = _without_name(text, name)
    return text


def _without(text: str, rule: Rule) -> str:
    kept: list[str] = []
    end = 0
    for match in rule.pattern.finditer(text.translate(_PLAIN)):
        start = match.end("before") if "before" in rule.pattern.groupindex else match.start()
        length = rule.measure(match.string[start : match.end()])
        if length:
            kept += [text[end:start], f"[{rule.kind}]"]
            end = start + length
    return "".join([*kept, text[end:]])


def _without_name(text: str, name: str) -> str:
    name = name.strip()
    if len(name) < _SHORTEST_NAME:  # "A" is an article and a grade before it is a name
        return text
    forms = "|".join(map(_form, dict.fromkeys(_spellings(name))))
    pattern = re.compile(rf"(?P<mark>{_MARK})|(?:{forms})", re.IGNORECASE)
    return pattern.sub(lambda match: str(match["mark"] or "[name]"), text)


def _spellings(name: str) -> Iterable[str]:
    return (unicodedata.normalize("NFC", name), unicodedata.normalize("NFD", name))


def _form(name: str) -> str:
    """Whole words where letters have words; Chinese characters stand side by side."""
    inside = r"\s+".join(map(re.escape, name.split()))
    letter = rf"[^\W_{_HAN}]"
    before = rf"(?<!{letter})" if re.match(letter, name) else ""
    after = rf"(?!{letter})" if re.search(rf"{letter}[\u0300-\u036f]*\Z", name) else ""
    return f"{before}{inside}{after}"
