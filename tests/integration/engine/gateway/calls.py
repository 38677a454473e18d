"""Calls of the gateway for the tests: in this thread, or in one of their own that can be cut."""

from __future__ import annotations

import sys
import threading
import time

from aijobs.engine.chat import ChatRequest, Message, Reply, Route
from aijobs.engine.cut import CallCut, Cut, CutReason
from aijobs.engine.errors import ProviderFault
from aijobs.engine.gateway import OpenAIProvider
from tests.scripted_provider import ScriptedProvider

KEY = "sk-canary-0123456789abcdef"
LONG_SECONDS = 60.0
#: Far below LONG_SECONDS: an outcome within it did not wait for the deadline.
SOON_SECONDS = 10.0

REQUEST = ChatRequest(
    messages=(Message("system", "Write questions as json."), Message("user", "Write exactly 2.")),
    max_tokens=800,
    temperature=0.3,
    thinking=False,
    schema_name="quiz_generation",
)


def route_to(server: ScriptedProvider | str, *, public_only: bool = False) -> Route:
    """A route with the canary key."""
    base_url = server if isinstance(server, str) else server.base_url
    return Route("scripted", "model-asked", base_url, KEY, public_only=public_only)


def a_cut(seconds: float = LONG_SECONDS) -> Cut:
    """A cut whose deadline is far, unless a test is about deadlines."""
    return Cut(time.monotonic() + seconds)


class Running:
    """A call in a thread of its own."""

    def __init__(
        self, provider: OpenAIProvider, route: Route, seconds: float = LONG_SECONDS
    ) -> None:
        self.cut = a_cut(seconds)
        self._provider = provider
        self._route = route
        self._outcome: Reply | Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def is_inside(self, function: str) -> bool:
        """Whether the innermost Python function that the call is in has this name."""
        frame = sys._current_frames().get(self._thread.ident or 0)
        return frame is not None and frame.f_code.co_name == function

    def outcome(self) -> Reply | Exception:
        """What the call came to, soon."""
        self._thread.join(SOON_SECONDS)
        assert not self._thread.is_alive(), "the call still runs"
        assert self._outcome is not None
        return self._outcome

    def reason(self) -> CutReason:
        """Why the call was cut, soon."""
        outcome = self.outcome()
        assert isinstance(outcome, CallCut), repr(outcome)
        return outcome.reason

    def _run(self) -> None:
        try:
            self._outcome = self._provider.complete(self._route, REQUEST, self.cut)
        except (ProviderFault, CallCut) as outcome:
            self._outcome = outcome
