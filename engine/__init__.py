"""Decisions: definitions, stages, gateway, prompts, validation, projection, limits, snapshots."""
