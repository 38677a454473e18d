"""The hash of an output."""

from __future__ import annotations

import hashlib

import pytest

from aijobs.engine.answer import output_hash


def test_the_hash_is_of_sorted_keys_without_spaces_in_utf_8() -> None:
    text = '{"a":[1,{"x":null,"y":"é卡"}],"b":true}'
    value = {"b": True, "a": [1, {"y": "é卡", "x": None}]}
    assert output_hash(value) == hashlib.sha256(text.encode()).hexdigest()


def test_key_order_does_not_show_and_item_order_does() -> None:
    assert output_hash({"a": 1, "b": {"c": 1, "d": 2}}) == output_hash(
        {"b": {"d": 2, "c": 1}, "a": 1}
    )
    assert output_hash([1, 2]) != output_hash([2, 1])


def test_what_is_not_json_has_no_hash() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        output_hash({"a": float("nan")})
