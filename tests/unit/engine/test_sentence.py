"""A sentence is its English text, and remembers how it was made."""

from __future__ import annotations

import json

import pytest

from aijobs.engine.refusal import FieldFault, Refused, wrong_field
from aijobs.engine.sentence import Sentence


def test_a_sentence_is_its_template_filled_with_its_facts() -> None:
    sentence = Sentence("At most {limit} bytes.", limit=9)
    assert sentence == "At most 9 bytes."
    assert json.dumps([sentence, f"{sentence}"]) == '["At most 9 bytes.", "At most 9 bytes."]'
    assert (sentence.template, sentence.facts) == ("At most {limit} bytes.", {"limit": 9})


def test_a_fact_may_be_a_sentence_or_an_enumeration() -> None:
    inner = Sentence("must be one of {choices}", choices=("a", "b", "c"))
    assert inner == "must be one of a, b, c"
    outer = Sentence("{field} {message}.", field="x", message=inner)
    assert outer == "x must be one of a, b, c."
    assert outer.facts["message"] is inner


def test_a_fact_is_never_a_template() -> None:
    assert Sentence("{kind} is not supported", kind="{limit}") == "{limit} is not supported"


def test_a_fact_that_is_missing_is_an_error() -> None:
    with pytest.raises(KeyError):
        Sentence("At most {limit} bytes.")


def test_what_a_library_says_stays_as_it_is() -> None:
    said = Sentence.quoting("Give {one}", "some_kind", {"least": 1})
    assert (said, said.template, said.facts) == ("Give {one}", "some_kind", {"least": 1})


def test_a_refusal_prints_its_code_and_its_sentence() -> None:
    assert str(Refused("NOT_FOUND", Sentence("Gone."))) == "NOT_FOUND: Gone."
    assert str(Refused("NOT_FOUND")) == "NOT_FOUND"


def test_a_field_that_is_wrong_is_told_in_the_detail_too() -> None:
    refused = wrong_field("limit", Sentence("must be {least}", least=1))
    assert (refused.code, refused.detail) == ("INVALID_REQUEST", "limit must be 1.")
    assert refused.errors == (FieldFault("limit", Sentence("must be 1")),)
