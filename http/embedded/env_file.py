"""Env files: NAME=value lines that a shell can source and `--env` reads back unchanged."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from aijobs.http.embedded.directory import write_private

_PLAIN = re.compile(r"[\w@%+=:,./?-]*", re.ASCII)


def write(path: Path, values: Mapping[str, str]) -> None:
    """Write the values for the owner's eyes alone, quoted where a shell needs it."""
    write_private(path, "".join(f"{name}={_quoted(values[name])}\n" for name in sorted(values)))


def read(path: Path) -> dict[str, str]:
    """The values of an env file; `#` lines and a leading `export` are allowed.

    Raises OSError when the file cannot be read and ValueError when it is no env file.
    """
    values: dict[str, str] = {}
    for word in shlex.split(path.read_text(), comments=True):
        name, equals, value = word.partition("=")
        if equals and name.isidentifier():
            values[name] = value
        elif word != "export":
            raise ValueError(f"{path}: {word!r} is not NAME=value")
    return values


def _quoted(value: str) -> str:
    """Plain where a shell's assignment allows it, so that readers without quotes agree."""
    return value if _PLAIN.fullmatch(value) else shlex.quote(value)
