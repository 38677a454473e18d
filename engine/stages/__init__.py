"""The five stages. Each is idempotent, fenced and checkpointed: run twice, it has the effect of
once.
"""

from aijobs.engine.stages.complete import complete
from aijobs.engine.stages.execute import execute
from aijobs.engine.stages.outcome import Cut, Fault, Lost, Next, Outcome, settle
from aijobs.engine.stages.prepare import prepare
from aijobs.engine.stages.project import project
from aijobs.engine.stages.resolve import Resolved, resolve

__all__ = [
    "Cut",
    "Fault",
    "Lost",
    "Next",
    "Outcome",
    "Resolved",
    "complete",
    "execute",
    "prepare",
    "project",
    "resolve",
    "settle",
]
