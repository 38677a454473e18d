"""The settings as one Markdown table, made from engine/settings.py: `aijobs settings`, the docs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from aijobs.engine.setting_names import variable
from aijobs.engine.settings import Settings

_KINDS = {int: "whole number", float: "number", str: "text", SecretStr: "secret", Path: "path"}


def settings_table() -> str:
    """One row per setting, in the order of their declaration."""
    head = ["| variable | kind | default | meaning |", "|---|---|---|---|"]
    rows = [_row(name, field) for name, field in Settings.model_fields.items()]
    return "\n".join(head + rows)


def _row(name: str, field: FieldInfo) -> str:
    cells = (
        f"`{variable(name)}`",
        _kind(field.annotation),
        _default(field),
        field.description or "",
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _kind(annotation: Any) -> str:
    if annotation in _KINDS:
        return _KINDS[annotation]
    choices = [choice for choice in get_args(annotation) if choice not in (type(None), ...)]
    if all(isinstance(choice, str) for choice in choices):
        return " or ".join(f"`{choice}`" for choice in choices)
    return _KINDS.get(choices[0], "JSON")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default_factory is not None:
        return "of the host"
    value = field.default
    if isinstance(value, tuple) and value:
        return ", ".join(f"`{item}`" for item in value)
    if isinstance(value, SecretStr):
        return "a public one, for development"
    if isinstance(value, float):
        return f"{value:g}"
    return f"`{value}`" if isinstance(value, str) else str(value or "none")
