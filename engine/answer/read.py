"""Reading an answer: the steps in their order, from the reply of a provider to a value to store.

Invariant: a value comes out only when it is what the model wrote, give or take the named repairs,
and keeps the definition's schema, rules and references; anything else is a fault.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from aijobs.engine.answer.decode import decode_document, decode_lists
from aijobs.engine.answer.finish import check_finish
from aijobs.engine.answer.fit import fit_model
from aijobs.engine.answer.params import AnswerParams
from aijobs.engine.answer.parse import parse_text
from aijobs.engine.answer.plain_text import clean_text
from aijobs.engine.answer.reading import Reading
from aijobs.engine.answer.tex import restore_tex
from aijobs.engine.answer.unwrap import unwrap
from aijobs.engine.answer.validate import check_references, check_rules, check_schema
from aijobs.engine.definition import JobDefinition
from aijobs.engine.errors import AnswerFault

if TYPE_CHECKING:
    from aijobs.engine.chat import Reply


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """`value` is ready to be stored and hashed; `repairs` names what was repaired."""

    outcome: Literal["accept", "repair"]
    value: dict[str, Any]
    repairs: tuple[str, ...]
    delivered_count: int


def read_answer(definition: JobDefinition, reply: Reply, params: AnswerParams) -> ReadAnswer:
    """The answer in `reply`.

    Raises AnswerFault, with sentences for a repair round; ProviderFault when the reply itself says
    that the provider gave up on it.
    """
    return take_steps(Reading(definition, reply, params))


def take_steps(reading: Reading) -> ReadAnswer:
    """The same for whoever looks at the reading itself: `taken` tells how far it came."""
    for step in STEPS:
        reading.taken[step.__name__] = ()
        before = len(reading.repairs)
        step(reading)
        reading.taken[step.__name__] = tuple(reading.repairs[before:])
    return ReadAnswer(
        outcome="repair" if reading.repairs else "accept",
        value=reading.value,
        repairs=tuple(reading.repairs),
        delivered_count=delivered_count(reading.definition, reading.value),
    )


def delivered_count(definition: JobDefinition, value: dict[str, Any]) -> int:
    """Items in an output; 1 for a type without items."""
    return len(value[definition.items_field]) if definition.items_field else 1


def mend(reading: Reading) -> None:
    """The definition's own near misses."""
    if isinstance(reading.value, dict):
        reading.value, names = reading.definition.mend(reading.value)
        reading.repaired(*names)


def keep_requested(reading: Reading) -> None:
    """More items than asked: the first N."""
    field, wanted = reading.definition.items_field, reading.params.requested_count
    if field is None or wanted is None or not isinstance(reading.value, dict):
        return
    items = reading.value.get(field)
    if isinstance(items, list) and len(items) > wanted:
        reading.value = {**reading.value, field: items[:wanted]}
        reading.repaired("surplus items left out")


def refuse_repairs(reading: Reading) -> None:
    """Without a finish_reason nothing says that the text is whole: it counts as it is."""
    if reading.as_is and reading.repairs:
        raise AnswerFault("OUTPUT_INVALID_JSON", "The answer is not complete, plain JSON.")


STEPS: tuple[Callable[[Reading], None], ...] = (
    check_finish,
    parse_text,
    decode_document,
    unwrap,
    decode_lists,
    restore_tex,
    clean_text,
    mend,
    fit_model,
    refuse_repairs,
    keep_requested,
    check_schema,
    check_rules,
    check_references,
)
