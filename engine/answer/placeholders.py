"""The example of the prompt come back as an answer: valid by schema, and says nothing.

Invariant: an item is refused only when all its required texts are placeholders, or one is only
dots; a card about the type "string" is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pydantic import BaseModel

_DOTS = re.compile(r"\s*(?:\.{2,}|…+|\. \. \.)\s*")
_PLACEHOLDER = re.compile(
    r"""\s*(?: \.{2,} | …+ | string | str | placeholder | todo | tbd
      | <[a-z][^<>]{2,}> | \{\{?\s*[a-z][\w\s]{2,}\}?\} | \[[a-z][\w\s]{2,}\] )\s*""",
    re.IGNORECASE | re.VERBOSE,
)


def placeholders(output: BaseModel, place: str = "") -> Iterator[str]:
    """One sentence per item of `output` that only holds placeholders."""
    texts, listed = _texts(output)
    everything = [*texts, *listed]
    if any(_DOTS.fullmatch(text) for text in texts) or (
        len(everything) > 1 and all(_PLACEHOLDER.fullmatch(text) for text in everything)
    ):
        yield f"{place or 'the document'}: holds a placeholder instead of content"
    for name in type(output).model_fields:
        value = getattr(output, name)
        for position, item in enumerate(value if isinstance(value, list) else ()):
            if isinstance(item, BaseModel):
                yield from placeholders(item, f"{name}[{position}]")


def _texts(output: BaseModel) -> tuple[list[str], list[str]]:
    """(required free texts, texts in required lists); an enum's word is neither."""
    fields = type(output).model_fields
    required = [
        (getattr(output, name), field) for name, field in fields.items() if field.is_required()
    ]
    texts = [value for value, field in required if field.annotation is str]
    lists = [value for value, _ in required if isinstance(value, list)]
    return texts, [item for items in lists for item in items if isinstance(item, str)]
