"""Which aijobs this is: what the installed package says, or the checkout's setup.cfg."""

from __future__ import annotations

from configparser import ConfigParser
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def current_version() -> str:
    """The version as released, such as 0.1.0."""
    try:
        return version("aijobs")
    except PackageNotFoundError:
        setup = ConfigParser(interpolation=None)
        setup.read(Path(__file__).resolve().parents[1] / "setup.cfg")
        return setup.get("metadata", "version")
