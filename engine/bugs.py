"""What is told of a bug: its kind and where, never its message.

A message can hold whatever was handled: a learner's text in a validation error, a row's contents in
a database error, a key in an HTTP library's.
"""

from __future__ import annotations

import traceback

_FRAMES = 6


def frames_of(error: BaseException) -> dict[str, str]:
    """`error`: the type, with the SQLSTATE of a database error; `where`: the innermost frames."""
    state = getattr(getattr(error, "orig", None), "pgcode", None)
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    where = " < ".join(f"{_short(f.filename)}:{f.lineno}:{f.name}" for f in reversed(frames))
    return {"error": type(error).__name__ + (f" {state}" if state else ""), "where": where}


def _short(filename: str) -> str:
    return "/".join(filename.rsplit("/", 2)[-2:])
