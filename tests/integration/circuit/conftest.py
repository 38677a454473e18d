"""A world whose jobs call a scripted provider through the production gateway."""

from tests.integration.engine.conftest import gateway, server, wired

__all__ = ["gateway", "server", "wired"]
