"""From text to a value: strict first, then the one document in the text, repaired if it must be.

Invariant: a truncated document is never closed, of two documents none is taken, nothing is
evaluated, and a repaired structure must be provable from the text, character by character.
"""

from __future__ import annotations

from aijobs.engine.answer.document import BrokenDocument, find_document
from aijobs.engine.answer.escapes import mend_escapes, unescape_quotes
from aijobs.engine.answer.reading import Reading
from aijobs.engine.answer.rebuild import rebuild
from aijobs.engine.answer.strict import NotJson, Unacceptable, loads
from aijobs.engine.errors import AnswerFault

_BOM = "\ufeff"
_MAX_CHARACTERS = 400_000


def parse_text(reading: Reading) -> None:
    """Set the value. Raises AnswerFault OUTPUT_INVALID_JSON."""
    try:
        _strict(reading)
    except NotJson:
        if reading.as_is or len(reading.text) > _MAX_CHARACTERS:
            raise _invalid("The answer is not plain JSON.") from None
        _tolerant(reading)


def _strict(reading: Reading) -> None:
    try:
        reading.value = loads(reading.text)
    except Unacceptable as problem:
        raise _invalid(str(problem)) from None


def _tolerant(reading: Reading) -> None:
    try:
        _one_document(reading)
    except (NotJson, Unacceptable) as problem:
        raise _invalid(str(problem) or "The answer is not one valid JSON document.") from None


def _one_document(reading: Reading) -> None:
    text = reading.text.lstrip(_BOM)
    if text != reading.text:
        reading.repaired("byte order mark left out")
    try:
        found = find_document(text)
    except BrokenDocument as broken:
        _broken_document(reading, text, broken)
    else:
        reading.value = found.value
        reading.repaired(*found.repairs)
        if not reading.repairs:  # strict JSON it was not, and nothing but blanks stands around
            reading.repaired("unusual blanks left out")


def _broken_document(reading: Reading, text: str, broken: BrokenDocument) -> None:
    mended = mend_escapes(text)
    if mended != text:
        try:
            found = find_document(mended)
        except BrokenDocument:
            pass
        else:
            reading.value = found.value
            reading.repaired("backslashes escaped", *found.repairs)
            return
    unescaped = unescape_quotes(broken.text)
    if unescaped is not None:
        reading.value = loads(unescaped)
        reading.repaired("escaped quotes")
        return
    reading.value = rebuild(broken.text)
    reading.guessed = True
    reading.repaired("json-repair", *broken.repairs)


def _invalid(problem: str) -> AnswerFault:
    return AnswerFault("OUTPUT_INVALID_JSON", problem)
