"""What pydantic finds wrong with a body, as a refusal that can be said in every language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from aijobs.engine.refusal import FieldFault, Refused, Unfit
from aijobs.engine.sentence import Sentence

#: The pattern of texts that must say something.
NOT_BLANK = r"\S"


def invalid(error: ValidationError) -> Refused:
    """A validation error as a refusal with one entry per field."""
    faults = tuple(
        FieldFault(".".join(map(str, item["loc"])) or "body", _sentence(item))
        for item in error.errors(include_url=False, include_input=False)
    )
    return Refused("INVALID_REQUEST", Sentence("Some fields are not valid."), errors=faults)


def _sentence(item: Any) -> Sentence:
    """What is wrong with a field: our words, or pydantic's under the name of its kind of error."""
    facts = item.get("ctx", {})
    if item["type"] == "string_pattern_mismatch":  # no regular expression is shown to anybody
        is_blank = facts["pattern"] == NOT_BLANK
        return (
            Sentence("must not be blank")
            if is_blank
            else Sentence("does not have the form that is asked for")
        )
    if isinstance(facts.get("error"), Unfit):
        message: Sentence = facts["error"].message
        return message
    text = item["msg"].removeprefix("Value error, ")
    return Sentence.quoting(text, item["type"], _readable(facts))


def _readable(facts: Mapping[str, Any]) -> dict[str, object]:
    """Numbers as pydantic writes them (1.0 as 1), and words to choose from as a list."""
    found: dict[str, object] = {}
    for name, fact in facts.items():
        is_whole = isinstance(fact, float) and fact.is_integer()
        found[name] = int(fact) if is_whole else fact
    if "expected" in found:
        found["expected"] = tuple(re.split(", | or ", str(found["expected"])))
    return found
