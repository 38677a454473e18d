"""What the finish_reason says about the text, before a character of it is read.

Invariant: only `stop` lets a text be repaired; an unknown reason never counts as `stop`.
"""

from __future__ import annotations

from aijobs.engine.answer.reading import Reading
from aijobs.engine.answer.strict import NotJson, Unacceptable, loads
from aijobs.engine.errors import AnswerFault, ProviderFault

_BLANKS = " \t\r\n"


def check_finish(reading: Reading) -> None:
    """Sort out replies that hold no answer; says whether repairs are allowed."""
    reply = reading.reply
    reason = reply.finish_reason or None
    text = reply.text or ""
    if reply.refusal or reason == "content_filter":
        raise AnswerFault("CONTENT_SAFETY_BLOCKED", "The provider declined.", repairable=False)
    if reason in ("insufficient_system_resource", "aborted"):
        raise ProviderFault("PROVIDER_UNAVAILABLE", f"finish_reason {reason}")
    if reason == "length" and not _is_complete(text):
        raise AnswerFault("OUTPUT_TRUNCATED", "The answer was cut at the token limit.")
    if reason not in ("stop", "length", None):
        raise AnswerFault("OUTPUT_INVALID_JSON", "Answer with one JSON document as text.")
    if not text.strip():
        raise AnswerFault("OUTPUT_EMPTY", "The answer was empty. Answer with one JSON document.")
    reading.text = text
    reading.as_is = reason is None


def _is_complete(text: str) -> bool:
    """One whole document, then blanks up to the limit."""
    if text.rstrip(_BLANKS) == text:
        return False
    try:
        return isinstance(loads(text), dict | list)
    except NotJson:
        return False
    except Unacceptable:
        return True  # whole, and refused for what it is when it is parsed
