"""The output's schema, rules and references: the last word on an answer, whoever produced it.

Invariant: a value that passes has exactly the published fields, keeps its job type's rules, and
points at nothing outside the snapshot.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from aijobs.engine.answer.hollow import hollow_places
from aijobs.engine.answer.params import AnswerParams
from aijobs.engine.answer.reading import Reading
from aijobs.engine.answer.strict import Unacceptable, check_text
from aijobs.engine.definition import JobDefinition
from aijobs.engine.errors import AnswerFault

_MAX_PROBLEMS = 20
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}")
_BRANCH = re.compile(r"(?:literal|list|function-before)\[.*\]|constrained-\w+")


def validate_output(definition: JobDefinition, output: Any, params: AnswerParams) -> dict[str, Any]:
    """The output of a runtime: nothing is repaired. Raises AnswerFault."""
    try:
        check_text(output)
    except Unacceptable as problem:
        raise AnswerFault("OUTPUT_INVALID_JSON", str(problem)) from None
    value = _validated(definition, output)
    _keep_rules(definition, value, params)
    _know_references(value, params)
    return value


def check_schema(reading: Reading) -> None:
    """SCHEMA_VALIDATION_FAILED, with one sentence per field."""
    reading.value = _validated(reading.definition, reading.value)


def check_rules(reading: Reading) -> None:
    """BUSINESS_VALIDATION_FAILED: the job type's own rules, and texts that say something."""
    _keep_rules(reading.definition, reading.value, reading.params)


def check_references(reading: Reading) -> None:
    """REFERENCE_VALIDATION_FAILED: every ref is one of the snapshot's."""
    _know_references(reading.value, reading.params)


def _validated(definition: JobDefinition, value: Any) -> dict[str, Any]:
    try:
        output = definition.output_model.model_validate(value)
    except ValidationError as error:
        raise _fault(
            "SCHEMA_VALIDATION_FAILED",
            [
                _sentence(item)
                for item in error.errors(include_url=False, include_input=False)
                if item["type"] != "none_required"  # of a field that may be left out, not null
            ],
        ) from None
    return output.model_dump(exclude_unset=True)


def _sentence(item: Any) -> str:
    place = "".join(map(_step, item["loc"]))
    return f"{place.lstrip('.') or 'the document'}: {item['msg']}"


def _step(part: int | str) -> str:
    """A key that is no name may be a piece of a text, which a log must not hold: it is not told."""
    if isinstance(part, int):
        return f"[{part}]"
    if _BRANCH.fullmatch(part):  # which of a field's alternatives was tried
        return ""
    return f".{part}" if _NAME.fullmatch(part) else ".<a key that is no name>"


def _keep_rules(definition: JobDefinition, value: dict[str, Any], params: AnswerParams) -> None:
    output = definition.output_model.model_validate(value)
    problems = [*hollow_places(output), *definition.rules(output, params)]
    if problems:
        raise _fault("BUSINESS_VALIDATION_FAILED", problems)


def _know_references(value: dict[str, Any], params: AnswerParams) -> None:
    unknown = sorted({ref for ref in _refs(value) if ref not in params.refs})
    if unknown:
        problems = [f"ref {ref!r} is not one of the given items" for ref in unknown]
        raise _fault("REFERENCE_VALIDATION_FAILED", problems)


def _refs(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("ref"), str):
            yield value["ref"]
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _refs(item)


def _fault(code: str, problems: list[str]) -> AnswerFault:
    kept = tuple(problems[:_MAX_PROBLEMS])
    return AnswerFault(code, "; ".join(kept), problems=kept)
