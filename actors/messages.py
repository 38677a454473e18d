"""What comes out of a queue, read with distrust: anybody may have put anything in.

Invariant: what is returned kills no thread of Dramatiq, which trusts that a message names the queue
it came from, and whose options are values of the right kind.
"""

from __future__ import annotations

from typing import Any

from dramatiq import Message
from dramatiq.errors import DecodeError

#: What this system sends; others mean something to Dramatiq (`throws`, `pipe_target`).
_OPTIONS = {"redis_message_id", "eta", "scheduled_at"}


class NotAMessage(ValueError):
    """A body that no sender of this system has made; the text names the reason, never the body."""


def read_message(body: bytes, queue_name: str) -> Message[Any]:
    """The message that this body of this queue is. Raises NotAMessage."""
    try:
        message = Message.decode(body)
    except DecodeError:
        raise NotAMessage("it cannot be decoded") from None
    for name, kind in (("message_id", str), ("actor_name", str), ("kwargs", dict)):
        if not isinstance(getattr(message, name), kind):
            raise NotAMessage(f"{name} is no {kind.__name__}")
    if message.queue_name != queue_name:
        raise NotAMessage("it names another queue")
    if not isinstance(message.options, dict) or not _OPTIONS.issuperset(message.options):
        raise NotAMessage("its options are not ours")
    return message
