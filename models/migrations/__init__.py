"""Numbered steps, additive first, each frozen once it has landed."""
