"""The state that the steps of reading an answer hand on.

Invariant: every change of what the model wrote is named in `repairs`, so "accept" means untouched.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aijobs.engine.answer.params import AnswerParams
from aijobs.engine.definition import JobDefinition

if TYPE_CHECKING:
    from aijobs.engine.chat import Reply


@dataclass(slots=True)
class Reading:
    """`text` until it is parsed, then `value`.

    `as_is`: no repair is allowed, since nothing says that the text is whole. `guessed`: the
    structure was rebuilt by json-repair and then proved. `sources`: texts inside the text that were
    read as JSON. `taken`: each step so far, with the repairs that it made.
    """

    definition: JobDefinition
    reply: Reply
    params: AnswerParams
    text: str = ""
    value: Any = None
    as_is: bool = False
    guessed: bool = False
    sources: list[str] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    taken: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def repaired(self, *names: str) -> None:
        """Note repairs, each once."""
        self.repairs.extend(name for name in names if name not in self.repairs)
