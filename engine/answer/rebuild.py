"""json-repair on a broken document, believed only as far as the text proves it.

Invariant: json-repair proposes, `proof` decides; what it closed, dropped or invented does not come
through.
"""

from __future__ import annotations

import re
from typing import Any

import json_repair

from aijobs.engine.answer.proof import is_proved
from aijobs.engine.answer.strict import MAX_DEPTH, NotJson, Unacceptable, check_text
from aijobs.engine.sentence import Sentence

#: json-repair looks far ahead from every bracket: more than any output has of either costs minutes.
_MAX_CHARACTERS = 40_000
_MAX_BRACKETS = 1_000
#: Full-width separators between tokens, one for one, so that offsets stay.
_FULL_WIDTH = re.compile(r"(?<=[\"”\]}\d])(\s*)([，：])(?=\s*[\"“\[{\dtfn-])")
_BRACKET = re.compile(r"[\[\]{}()]")
_ASCII = {"，": ",", "：": ":"}


def rebuild(text: str) -> Any:
    """The value of `text`. Raises NotJson when none is proved, Unacceptable."""
    if len(text) > _MAX_CHARACTERS or len(_BRACKET.findall(text)) > _MAX_BRACKETS:
        raise NotJson("The JSON is not valid.")
    if _deepest(text) > MAX_DEPTH:
        raise Unacceptable(Sentence("The JSON is nested too deeply."))
    for candidate in dict.fromkeys((text, _FULL_WIDTH.sub(_ascii, text))):
        value = _proposed(candidate)
        if isinstance(value, dict | list) and is_proved(value, text):
            check_text(value)
            return value
    raise NotJson("The JSON is not valid.")


def _ascii(match: re.Match[str]) -> str:
    return match[1] + _ASCII[match[2]]


def _proposed(text: str) -> Any:
    try:
        return json_repair.loads(text, skip_json_loads=True)
    except (ValueError, RecursionError, TypeError, IndexError, KeyError, AttributeError):
        return None  # whatever its heuristics ran into, the text is not readable


def _deepest(text: str) -> int:
    depth = deepest = 0
    for character in text:
        depth += (character in "[{") - (character in "]}")
        deepest = max(deepest, depth)
    return deepest
