"""The OpenAI chat-completions wire: one call, one answer or one fault, no retry."""

from aijobs.engine.gateway.provider import OpenAIProvider

__all__ = ["OpenAIProvider"]
