"""Reading a model's answer: from the wire's text to a value that may be stored, or a fault."""

from __future__ import annotations

from aijobs.engine.answer.canonical import output_hash
from aijobs.engine.answer.params import AnswerParams
from aijobs.engine.answer.read import ReadAnswer, read_answer, take_steps
from aijobs.engine.answer.reading import Reading
from aijobs.engine.answer.validate import validate_output

__all__ = [
    "AnswerParams",
    "ReadAnswer",
    "Reading",
    "output_hash",
    "read_answer",
    "take_steps",
    "validate_output",
]
