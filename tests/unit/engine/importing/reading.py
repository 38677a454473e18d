"""Reading a text of a test: its points, or the faults that it is refused for."""

from __future__ import annotations

import pytest

from aijobs.engine.importing import Draft, read_points
from aijobs.engine.refusal import Refused


def points(text: str, file_format: str) -> list[Draft]:
    """The points of a text in UTF-8."""
    return read_points(text.encode(), file_format)


def pairs(text: str, file_format: str) -> list[tuple[str, str]]:
    """The titles and bodies of a text in UTF-8."""
    return [(point.title, point.body) for point in points(text, file_format)]


def faults(raw: str | bytes, file_format: str, charset: str | None = None) -> list[tuple[str, str]]:
    """Field and message of every fault; the file must be refused, its detail telling the first."""
    data = raw.encode() if isinstance(raw, str) else raw
    with pytest.raises(Refused) as caught:
        read_points(data, file_format, charset=charset)
    assert caught.value.code == "INVALID_REQUEST"
    found = [(str(fault.field), str(fault.message)) for fault in caught.value.errors]
    assert caught.value.detail == f"{found[0][0]}: {found[0][1]}. Nothing was stored."
    return found


def only_fault(raw: str | bytes, file_format: str, charset: str | None = None) -> tuple[str, str]:
    """The one fault that the file is refused for."""
    found = faults(raw, file_format, charset)
    assert len(found) == 1, found
    return found[0]
