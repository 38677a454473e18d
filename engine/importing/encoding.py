"""A file's bytes as text: UTF-8, UTF-16 with its byte order mark, GB18030 when the sender says so.

Invariant: nothing is guessed; a mark says more than the sender, and line breaks come out as `\\n`.
"""

from __future__ import annotations

import codecs
import re

from aijobs.engine.importing.draft import at_line, refused
from aijobs.engine.refusal import FieldFault, Refused
from aijobs.engine.sentence import Sentence

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
#: gbk and gb2312 are parts of gb18030, and senders say them for it.
_CHARSETS = {
    "utf-8": "utf-8",
    "utf8": "utf-8",
    "us-ascii": "utf-8",
    "utf-16": "utf-16",
    "gb18030": "gb18030",
    "gbk": "gb18030",
    "gb2312": "gb18030",
}
_NAMES = {
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "gb18030": "GB18030",
}
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def decode(raw: bytes, charset: str | None = None) -> str:
    """The text of a file without its byte order mark. Raises Refused INVALID_REQUEST."""
    encoding = _encoding(raw, charset)
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        raise _undecodable(raw, encoding, error.start) from None
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if unstorable := _UNSTORABLE.search(text):
        raise _at(text, unstorable.start())
    return text


def _encoding(raw: bytes, charset: str | None) -> str:
    said = _CHARSETS.get((charset or "utf-8").strip().lower())
    if said is None:
        raise refused(FieldFault("charset", Sentence("is not supported: save the file as UTF-8")))
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return encoding
    if said == "utf-16":
        message = Sentence("no UTF-16 byte order mark: save the file as UTF-8")
        raise refused(at_line(1, message))
    return said


def _undecodable(raw: bytes, encoding: str, place: int) -> Refused:
    line = raw.count(b"\n", 0, place) + 1
    byte = f"{raw[place]:02X}"
    if encoding == "utf-8":
        message = Sentence(
            "byte {place} of the file (0x{byte}) is not UTF-8: save the file as UTF-8, or send "
            "charset=gb18030 in Content-Type if it is GB18030 or GBK",
            place=place + 1,
            byte=byte,
        )
    else:
        message = Sentence(
            "byte {place} of the file (0x{byte}) is not {encoding}: save the file as UTF-8",
            place=place + 1,
            byte=byte,
            encoding=_NAMES[encoding],
        )
    return refused(at_line(line, message))


def _at(text: str, place: int) -> Refused:
    line = text.count("\n", 0, place) + 1
    message = Sentence(
        "U+{code} at character {column}: remove it, or save the file as UTF-8",
        code=f"{ord(text[place]):04X}",
        column=place - text.rfind("\n", 0, place),
    )
    return refused(at_line(line, message))
