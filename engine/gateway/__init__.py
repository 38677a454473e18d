"""The OpenAI chat-completions wire: one call, one answer or one fault, no retry."""

from aijobs.engine.gateway.faults import AnsweredFault
from aijobs.engine.gateway.provider import OpenAIProvider

__all__ = ["AnsweredFault", "OpenAIProvider"]
