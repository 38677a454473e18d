"""The values that go to a model and come back, whoever answers.

Invariant: neither a key nor what a user or a model wrote shows in a repr, so a value may be logged.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

from aijobs.engine.cut import Cut


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of the conversation."""

    role: Literal["system", "user", "assistant"]
    content: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What is asked. `schema_name` is the job type.

    `snapshot` is what the messages were rendered from: for a provider that answers without a wire.
    """

    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float
    thinking: bool
    schema_name: str
    snapshot: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def request_hash(self) -> str:
        """SHA-256, in hex, of what decides the answer: the same on every route and attempt."""
        asked = {
            "messages": [[message.role, message.content] for message in self.messages],
            "schema": self.schema_name,
            "sampling": [self.max_tokens, self.temperature, self.thinking],
        }
        text = json.dumps(asked, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Route:
    """Where a request goes. A None in `extra_body` takes that field out of the request.

    `public_only`: addresses of private networks are refused after resolution (a user's own base
    URL).
    """

    provider: str
    model: str
    base_url: str
    api_key: str = field(repr=False)
    extra_body: Mapping[str, Any] = field(default_factory=dict, hash=False)
    public_only: bool = False


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens as the provider counted them; None where it did not say. `cached` is part of `input`,
    `reasoning` is part of `output`."""

    input: int | None
    cached: int | None
    output: int | None
    reasoning: int | None


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete answer of a provider, not yet read. `reasoning`: thinking text came with it."""

    text: str | None = field(repr=False)
    finish_reason: str | None
    refusal: str | None = field(repr=False)
    has_tool_calls: bool
    reasoning: bool
    response_model: str | None
    usage: TokenUsage | None
    http_status: int

    def to_journal(self) -> str:
        """ASCII JSON, so that any text column keeps it, for `from_journal` of a later attempt."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_journal(cls, text: str) -> Reply:
        """The reply that `to_journal` wrote. Raises ValueError for anything else."""
        try:
            fields = json.loads(text)
            usage = fields.pop("usage")
            return cls(**fields, usage=None if usage is None else TokenUsage(**usage))
        except (TypeError, AttributeError, KeyError) as error:
            raise ValueError("not a journalled reply") from error


class Provider(Protocol):
    """Whoever answers requests."""

    def complete(self, route: Route, request: ChatRequest, cut: Cut) -> Reply:
        """One call and no retry.

        Raises ProviderFault (codes: engine.md, Errors), and CallCut when `cut` ended the call.
        """
        ...
