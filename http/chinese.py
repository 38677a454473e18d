"""Sentences to people in Chinese: one catalog, looked up where an answer is written.

Invariant: what the catalog does not know is said in English, whole.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from aijobs.engine.sentence import Sentence

_FILE = Path(__file__).parent / "chinese.toml"


def in_chinese(sentence: Sentence) -> str:
    """The sentence, and the sentences among its facts, in Chinese; other facts as they are."""
    template = _translations().get(sentence.template)
    if template is None:
        return str(sentence)
    try:
        return template.format(**{name: _said(fact) for name, fact in sentence.facts.items()})
    except KeyError:  # a library has other facts to tell than the one that was translated
        return str(sentence)


def catalog() -> dict[str, dict[str, str]]:
    """The sections of the catalog: what names a sentence -> its Chinese template."""
    found: dict[str, dict[str, str]] = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return found


@cache
def _translations() -> dict[str, str]:
    return {name: told for section in catalog().values() for name, told in section.items()}


def _said(fact: object) -> str:
    if isinstance(fact, Sentence):
        return in_chinese(fact)
    return "、".join(map(str, fact)) if isinstance(fact, tuple) else str(fact)
