"""An answer put together from the chunks of a stream, or from one whole body.

Invariant: a Reply comes out only of an answer that is complete and that no error came with.
"""

from __future__ import annotations

from typing import Any

from aijobs.engine.chat import Reply, Route, TokenUsage
from aijobs.engine.gateway.error_body import ErrorBody, error_in
from aijobs.engine.gateway.faults import AnsweredFault, class_of_inner, describe
from aijobs.engine.gateway.message import StrangeContent, said
from aijobs.engine.gateway.token_usage import token_usage

#: finish_reason -> error class (facts: finish_reason).
_FAULTS = {
    "insufficient_system_resource": "PROVIDER_UNAVAILABLE",
    "aborted": "PROVIDER_UNAVAILABLE",
    "content_filter": "CONTENT_SAFETY_BLOCKED",
}
_NAME_CHARACTERS = 200


class Assembly:
    """Add payloads, then ask for the reply."""

    def __init__(self, route: Route, http_status: int) -> None:
        self.finish_reason: str | None = None
        self._route = route
        self._http_status = http_status
        self._has_choice = False
        self._has_text = False
        self._texts: list[str] = []
        self._refusals: list[str] = []
        self._has_tool_calls = False
        self._reasoning = False
        self._model: str | None = None
        self._usage: TokenUsage | None = None

    def add(self, payload: Any, *, is_error: bool = False) -> None:
        """One chunk, or the whole body. Raises AnsweredFault for an error in it."""
        error = error_in(payload) or (ErrorBody() if is_error else None)
        if error is not None:
            raise self._error(error)
        if not isinstance(payload, dict):
            raise self.fault("PROVIDER_UNAVAILABLE", "the answer is no object")
        self._model = _text(payload.get("model")) or self._model
        self._count(payload.get("usage"))
        choices = payload.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if isinstance(choice, dict) and choice.get("index") in (0, None):
                self._choose(choice)

    def reply(self) -> Reply:
        """What was answered. Raises AnsweredFault for an answer that is a fault of the provider."""
        refusal = "".join(self._refusals).strip() or None
        if not self._has_choice:
            raise self.fault("PROVIDER_UNAVAILABLE", "the answer has no choices")
        if self.finish_reason in _FAULTS:
            code = _FAULTS[self.finish_reason]
            raise self.fault(code, f"finish_reason {self.finish_reason}")
        if refusal is not None:
            raise self.fault("CONTENT_SAFETY_BLOCKED", "the model refused")
        return Reply(
            text="".join(self._texts) if self._has_text else None,
            finish_reason=self.finish_reason,
            refusal=None,
            has_tool_calls=self._has_tool_calls,
            reasoning=self._reasoning,
            response_model=self._model,
            usage=self._usage,
            http_status=self._http_status,
        )

    def fault(self, code: str, detail: str) -> AnsweredFault:
        """A fault with what is known of the answer so far."""
        return AnsweredFault(
            code,
            detail,
            http_status=self._http_status,
            usage=self._usage,
            response_model=self._model,
        )

    def _error(self, error: ErrorBody) -> AnsweredFault:
        detail = describe(f"HTTP {self._http_status} with an error", error, self._route)
        return self.fault(class_of_inner(error, self._route.model), detail)

    def _count(self, usage: Any) -> None:
        """The last count stays: it grows from chunk to chunk where it comes with each."""
        self._usage = token_usage(usage) or self._usage

    def _choose(self, choice: dict[str, Any]) -> None:
        if error := error_in({"error": choice.get("error")}):
            raise self._error(error)
        self._has_choice = True
        self._count(choice.get("usage"))
        self.finish_reason = _finish_reason(choice) or self.finish_reason
        message = choice.get("delta") or choice.get("message")
        if isinstance(message, dict):
            self._take(message)

    def _take(self, message: dict[str, Any]) -> None:
        try:
            part = said(message)
        except StrangeContent:
            raise self.fault("PROVIDER_UNAVAILABLE", "the content is no text") from None
        if part.text is not None:
            self._texts.append(part.text)
            self._has_text = True
        self._refusals.append(part.refusal)
        self._has_tool_calls |= part.has_tool_calls
        self._reasoning |= part.reasoning


def _finish_reason(choice: dict[str, Any]) -> str | None:
    """Routers rewrite the reasons that mean trouble, and keep the true one beside it."""
    fields = choice.get("provider_specific_fields")
    for holder in (choice, fields if isinstance(fields, dict) else {}):
        native = holder.get("native_finish_reason")
        if isinstance(native, str) and native in _FAULTS:
            return native
    return _text(choice.get("finish_reason"))


def _text(value: Any) -> str | None:
    """A name, as it can be stored: no database keeps U+0000 or half of a surrogate pair."""
    if not isinstance(value, str) or not value:
        return None
    kept = value[:_NAME_CHARACTERS]
    return "".join(character if character.isprintable() else "\ufffd" for character in kept)
