"""One statement per file; each says why it is written as it is in its header."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent


@cache
def load(name: str) -> str:
    """The statement in `<name>.sql`, with `{{other}}` replaced by the fragment in `<other>.sql`."""
    text = (_FOLDER / f"{name}.sql").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("--")]
    statement = "\n".join(lines).strip()
    while "{{" in statement:
        fragment = statement.split("{{", 1)[1].split("}}", 1)[0]
        statement = statement.replace("{{" + fragment + "}}", load(fragment))
    return statement
