"""Dramatiq: broker, stage actors, relay, COMPLETE, periodic work."""
