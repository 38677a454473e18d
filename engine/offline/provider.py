"""The provider of a system without a key: it implements the same interface and is read the same
way.

Invariant: the answer depends on the request's snapshot and size limit alone, so equal requests get
equal answers; nothing is invented that the snapshot does not say.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from aijobs.engine.chat import ChatRequest, Reply, Route, TokenUsage
from aijobs.engine.cut import Cut
from aijobs.engine.errors import ProviderFault
from aijobs.engine.offline.cards import flashcards
from aijobs.engine.offline.material import Material, read_material
from aijobs.engine.offline.quiz import quiz
from aijobs.engine.offline.recall import active_recall, feynman_evaluation
from aijobs.engine.offline.study import learning_state, next_actions, weak_points

RESPONSE_MODEL = "offline-rules-1"
_BYTES_PER_TOKEN = 4

#: `(material, room in bytes, check) -> output`; `check` raises when the call was ended.
Rule = Callable[[Material, int, Callable[[], None]], dict[str, Any]]

RULES: dict[str, Rule] = {
    "quiz_generation": quiz,
    "flashcard_generation": flashcards,
    "learning_state_analysis": learning_state,
    "weak_point_analysis": weak_points,
    "next_action_planning": next_actions,
    "active_recall": active_recall,
    "feynman_evaluation": feynman_evaluation,
}


class OfflineProvider:
    """Implements `engine.chat.Provider`."""

    def complete(self, route: Route, request: ChatRequest, cut: Cut) -> Reply:
        """Answer from `request.snapshot`. Raises CallCut, ProviderFault for an unknown job type."""
        cut.check()
        rule = RULES.get(request.schema_name)
        if rule is None:
            raise ProviderFault(
                "PROVIDER_BAD_REQUEST", f"there are no offline rules for {request.schema_name}"
            )
        room = request.max_tokens * _BYTES_PER_TOKEN
        output = rule(read_material(request.snapshot), room, cut.check)
        return _reply(request, json.dumps(output, ensure_ascii=False))


def _reply(request: ChatRequest, text: str) -> Reply:
    prompt = "".join(message.content for message in request.messages)
    return Reply(
        text=text,
        finish_reason="stop",
        refusal=None,
        has_tool_calls=False,
        reasoning=False,
        response_model=RESPONSE_MODEL,
        usage=TokenUsage(input=_tokens(prompt), cached=0, output=_tokens(text), reasoning=0),
        http_status=200,
    )


def _tokens(text: str) -> int:
    return -(-len(text.encode()) // _BYTES_PER_TOKEN)
