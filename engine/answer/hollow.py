"""Texts that are valid by schema and say nothing: blanks, or the prompt's example come back.

Invariant: an item is refused only when a required text is blank or only dots, or all of them are
placeholders; a card about the type "string" is none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from pydantic import BaseModel

#: Separators, controls, marks of format; and the letters that have no shape.
_BLANK_CATEGORIES = ("Zs", "Zl", "Zp", "Cc", "Cf")
_BLANK_LETTERS = "\u115f\u1160\u2800\u3164\uffa0"
_DOTS = re.compile(r"\s*(?:\.{2,}|…+|\. \. \.)\s*")
_PLACEHOLDER = re.compile(
    r"""\s*(?: \.{2,} | …+ | string | str | placeholder | todo | tbd
      | <[a-z][^<>]{2,}> | \{\{?\s*[a-z][\w\s]{2,}\}?\} | \[[a-z][\w\s]{2,}\] )\s*""",
    re.IGNORECASE | re.VERBOSE,
)


def hollow_places(output: BaseModel, place: str = "") -> Iterator[str]:
    """One sentence per text of `output` that is blank and per item that only holds placeholders."""
    texts, listed = _texts(output)
    everything = [*texts.values(), *listed.values()]
    where = place or "the document"
    for name, text in (*texts.items(), *listed.items()):
        if is_blank(text):
            yield f"{where}: {name} is blank"
    if any(_DOTS.fullmatch(text) for text in texts.values()) or (
        len(everything) > 1 and all(_PLACEHOLDER.fullmatch(text) for text in everything)
    ):
        yield f"{where}: holds a placeholder instead of content"
    for name in type(output).model_fields:
        value = getattr(output, name)
        for position, item in enumerate(value if isinstance(value, list) else ()):
            if isinstance(item, BaseModel):
                yield from hollow_places(item, f"{name}[{position}]")


def is_blank(text: str) -> bool:
    """Whether a reader would see nothing of it."""
    return all(
        unicodedata.category(character) in _BLANK_CATEGORIES or character in _BLANK_LETTERS
        for character in text
    )


def _texts(output: BaseModel) -> tuple[dict[str, str], dict[str, str]]:
    """(required free texts, texts in required lists) by name; an enum's word is neither."""
    fields = type(output).model_fields
    required = [
        (name, getattr(output, name), field)
        for name, field in fields.items()
        if field.is_required()
    ]
    texts = {name: value for name, value, field in required if field.annotation is str}
    listed = {
        f"{name}[{position}]": item
        for name, value, _ in required
        for position, item in enumerate(value if isinstance(value, list) else ())
        if isinstance(item, str)
    }
    return texts, listed
