"""A sentence to a person: its English text, and what it takes to say the same in another language.

Invariant: the text is the template filled with the facts. It is a `str`, so that whatever prints,
logs or compares it needs to know of no languages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self


class Sentence(str):
    """`Sentence("At most {limit} bytes.", limit=9)`.

    The template is a literal: the tests find it in the source and ask for its translation. A fact
    may be a sentence itself; a tuple is an enumeration.
    """

    template: str
    facts: Mapping[str, object]

    def __new__(cls, template: str, /, **facts: object) -> Self:
        said = {name: _listed(fact) for name, fact in facts.items()}
        return cls.quoting(template.format(**said), template, facts)

    @classmethod
    def quoting(cls, text: str, template: str, facts: Mapping[str, object] | None = None) -> Self:
        """What a library says in words of its own; `template` is any name of what it means."""
        self = str.__new__(cls, text)
        self.template = template
        self.facts = facts or {}
        return self


def _listed(fact: object) -> object:
    return ", ".join(map(str, fact)) if isinstance(fact, tuple) else fact
