"""Answers without a model: real questions and cards from the snapshot by plain rules."""

from __future__ import annotations

from aijobs.engine.offline.provider import OfflineProvider

__all__ = ["OfflineProvider"]
