"""Workers of the benchmark: the production composition with a provider that answers at once."""

from __future__ import annotations

import json
import os
from dataclasses import replace

from aijobs.actors.worker import build
from aijobs.engine.chat import ChatRequest, Reply, Route, TokenUsage
from aijobs.engine.cut import Cut
from aijobs.engine.engine import build_engine
from aijobs.engine.settings import Settings

#: About 1 KB, five items: what every peer is given too.
DOCUMENT = {
    "questions": [
        {"question": f"{number} " + "x" * 120, "options": list("abcd"), "answer_index": 1}
        for number in range(5)
    ]
}


class InstantProvider:
    """Answers with DOCUMENT; the prompt's nonce makes the content of each job its own."""

    def complete(self, route: Route, request: ChatRequest, cut: Cut) -> Reply:
        cut.check()
        own = request.request_hash[:16]
        document = {
            "questions": [
                {**item, "question": f"{own} {item['question']}"} for item in DOCUMENT["questions"]
            ]
        }
        return Reply(
            text=json.dumps(document),
            finish_reason="stop",
            refusal=None,
            has_tool_calls=False,
            reasoning=False,
            response_model="instant",
            usage=TokenUsage(input=300, cached=0, output=300, reasoning=0),
            http_status=200,
        )


def __getattr__(name: str) -> object:
    if name != "broker":
        raise AttributeError(name)
    settings = Settings.from_env(os.environ)
    engine = replace(build_engine(settings), provider=InstantProvider())
    made = globals()["broker"] = build(settings, engine)
    return made
