"""JSON inside a string: a document, or a list, that was encoded once more than asked.

Invariant: what is decoded is noted in `sources` beside the text itself, and comes before the steps
that restore and clean texts, so that no text reaches the store around them.
"""

from __future__ import annotations

from typing import Any, get_args, get_origin

from pydantic import BaseModel

from aijobs.engine.answer.kinds import is_model, kinds_of
from aijobs.engine.answer.reading import Reading
from aijobs.engine.answer.strict import NotJson, Unacceptable, loads


def decode_document(reading: Reading) -> None:
    """A value that is one string with the document in it."""
    if isinstance(reading.value, str):
        reading.value = _decoded(reading, reading.value, "document decoded from a string")


def decode_lists(reading: Reading) -> None:
    """Strings that stand where the output's model wants a list."""
    reading.value = _model(reading, reading.value, reading.definition.output_model)


def _model(reading: Reading, value: Any, model: type[BaseModel]) -> Any:
    if not isinstance(value, dict):
        return value
    fields = model.model_fields
    return {
        key: _field(reading, item, fields[key].annotation) if key in fields else item
        for key, item in value.items()
    }


def _field(reading: Reading, value: Any, annotation: Any) -> Any:
    for kind in kinds_of(annotation):
        if get_origin(kind) is list:
            return _list(reading, value, get_args(kind)[0])
        if is_model(kind):
            return _model(reading, value, kind)
    return value


def _list(reading: Reading, value: Any, item: Any) -> Any:
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = _decoded(reading, value, "list decoded from a string")
    if not isinstance(value, list):
        return value
    return [_field(reading, element, item) for element in value]


def _decoded(reading: Reading, text: str, repair: str) -> Any:
    try:
        value = loads(text)
    except (NotJson, Unacceptable):
        return text  # the schema says what is wrong with it
    reading.sources.append(text)
    reading.repaired(repair)
    return value
