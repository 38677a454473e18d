"""The files of this folder: a header that says why, and one statement with its fragments."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent
_COMMENT = "--"


@cache
def header(name: str) -> str:
    """The comment of `<name>.sql` on one line."""
    lines = [line[len(_COMMENT) :].strip() for line in _lines(name) if line.startswith(_COMMENT)]
    return " ".join(lines)


@cache
def text(name: str) -> str:
    """The statement in `<name>.sql`, with `{{other}}` replaced by the fragment in `<other>.sql`."""
    lines = [line for line in _lines(name) if not line.startswith(_COMMENT)]
    statement = "\n".join(lines).strip()
    while "{{" in statement:
        fragment = statement.split("{{", 1)[1].split("}}", 1)[0]
        statement = statement.replace("{{" + fragment + "}}", text(fragment))
    return statement


def names() -> list[str]:
    """All of the files, without the suffix."""
    return sorted(path.stem for path in _FOLDER.glob("*.sql"))


def _lines(name: str) -> list[str]:
    return (_FOLDER / f"{name}.sql").read_text(encoding="utf-8").splitlines()
