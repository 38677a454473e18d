"""Bringing a value nearer to its model where only one reading exists.

Invariant: what is changed is lossless (a number in quotes, an enum in capitals, a null for "left
out") or belongs to nobody (unknown keys); a value that could mean two things is left for the
schema.
"""

from __future__ import annotations

import math
import re
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from aijobs.engine.answer.kinds import is_model, kinds_of
from aijobs.engine.answer.marks import Exact, NeverNull
from aijobs.engine.answer.reading import Reading

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,8})")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]{0,8})(?:\.[0-9]{1,9})?")
#: A key that somebody would choose. Any other may be the rest of a text whose quotes ended it.
_NAME = re.compile(r"[\w$@][\w$@ .:/-]{0,59}")
#: An unknown key like these may hold a second answer: nobody may choose between two.
_ANSWER_WORDS = ("answer", "correct", "solution")


def fit_model(reading: Reading) -> None:
    """Walk the value beside its model."""
    reading.value = _model(reading, reading.value, reading.definition.output_model)


def _model(reading: Reading, value: Any, model: type[BaseModel]) -> Any:
    if not isinstance(value, dict):
        return value
    fields = model.model_fields
    fitted = {}
    for key, item in value.items():
        if key not in fields:
            if reading.guessed or not _NAME.fullmatch(key) or _resembles(key, fields):
                fitted[key] = item
            else:
                reading.repaired("unknown keys left out")
        elif item is None and _is_absent(fields[key]):
            reading.repaired("null left out")
        else:
            fitted[key] = _fitted(reading, item, fields[key])
    return fitted


def _fitted(reading: Reading, value: Any, field: FieldInfo) -> Any:
    if any(mark is Exact for mark in field.metadata) and isinstance(value, str):
        return value
    return _field(reading, value, field.annotation)


def _resembles(key: str, fields: dict[str, FieldInfo]) -> bool:
    folded = _fold(key)
    if any(folded == _fold(name) for name in fields):
        return True
    has_answer = any("answer" in name for name in fields)
    return has_answer and any(word in folded for word in _ANSWER_WORDS)


def _fold(name: str) -> str:
    return name.replace("_", "").replace("-", "").replace(" ", "").casefold()


def _is_absent(field: FieldInfo) -> bool:
    """Optional, but not nullable."""
    return any(mark is NeverNull for mark in field.metadata)


def _field(reading: Reading, value: Any, annotation: Any) -> Any:
    for kind in kinds_of(annotation):
        if get_origin(kind) is list:
            return _list(reading, value, get_args(kind)[0])
        if get_origin(kind) is Literal:
            return _enum(reading, value, get_args(kind))
        if is_model(kind):
            return _model(reading, value, kind)
        if kind in (int, float):
            return _number(reading, value, kind)
    return value


def _list(reading: Reading, value: Any, item: Any) -> Any:
    if not isinstance(value, list):
        return value
    return [_field(reading, element, item) for element in value]


def _enum(reading: Reading, value: Any, choices: tuple[Any, ...]) -> Any:
    if value in choices or not isinstance(value, str):
        return value
    folded = value.strip().lower()
    if folded not in choices:
        return value
    reading.repaired("enum in lower case")
    return folded


def _number(reading: Reading, value: Any, kind: type) -> Any:
    if isinstance(value, str):
        return _number_in_quotes(reading, value.strip(), kind)
    if kind is int and isinstance(value, float) and math.isfinite(value) and value.is_integer():
        reading.repaired("whole number")
        return int(value)
    return value


def _number_in_quotes(reading: Reading, text: str, kind: type) -> Any:
    pattern = _INTEGER if kind is int else _DECIMAL
    if not pattern.fullmatch(text):
        return text
    reading.repaired("number in quotes")
    return kind(text)
