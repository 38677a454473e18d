"""Encodings: marks are believed, GB18030 must be said, and what fits none names its byte."""

from __future__ import annotations

import codecs

import pytest

from aijobs.engine.importing import read_points
from tests.unit.engine.importing.reading import only_fault

TEXT = "title,body\n细胞核,保存 DNA 的部分 🧬\n"
BROKEN_UTF8 = b"title,body\nA,a\nB,caf\xe9\n"


@pytest.mark.parametrize(
    ("raw", "charset"),
    [
        (TEXT.encode(), None),
        (TEXT.encode(), "UTF-8"),
        (codecs.BOM_UTF8 + TEXT.encode(), None),
        (codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), None),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), None),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), "utf-16"),
        (TEXT.encode("gb18030"), "GB18030"),
        (TEXT.encode("gb18030"), "gbk"),
        (TEXT.encode("gb18030"), "gb2312"),
        (("\ufeff" + TEXT).encode("gb18030"), "gb18030"),
        (codecs.BOM_UTF8 + TEXT.encode(), "gb18030"),
    ],
)
def test_an_encoding_is_read(raw: bytes, charset: str | None) -> None:
    (point,) = read_points(raw, "csv", charset=charset)
    assert (point.title, point.body) == ("细胞核", "保存 DNA 的部分 🧬")


@pytest.mark.parametrize(
    ("raw", "charset", "field", "says"),
    [
        (
            BROKEN_UTF8,
            None,
            "line 3",
            "byte 21 of the file (0xE9) is not UTF-8: save the file as UTF-8, or",
        ),
        (TEXT.encode("gbk", "ignore"), None, "line 2", "byte 14 of the file (0xB0) is not UTF-8"),
        (
            b"title,body\nA,\xff\n",
            "gb18030",
            "line 2",
            "byte 14 of the file (0xFF) is not GB18030: save",
        ),
        (
            codecs.BOM_UTF16_LE + b"a\x00\x00\xd8b\x00",
            None,
            "line 1",
            "byte 5 of the file (0x00) is not UTF-16",
        ),
        (
            codecs.BOM_UTF16_LE + b"a\x00b",
            None,
            "line 1",
            "byte 5 of the file (0x62) is not UTF-16",
        ),
        (
            TEXT.encode("utf-16-le"),
            "utf-16",
            "line 1",
            "no UTF-16 byte order mark: save the file as UTF-8",
        ),
        (TEXT.encode(), "latin-1", "charset", "is not supported: save the file as UTF-8"),
        (TEXT.encode(), "idna", "charset", "is not supported: save the file as UTF-8"),
        (b"title,body\nA,a\nB,b\x00c\n", None, "line 3", "U+0000 at character 4: remove it"),
        (
            "title,body\nA,a\n".encode("utf-16-le"),
            None,
            "line 1",
            "U+0000 at character 2: remove it",
        ),
        (b"title,body\rA,\x00\r", None, "line 2", "U+0000 at character 3: remove it"),
        (b"\xed\xa0\x80", None, "line 1", "byte 1 of the file (0xED) is not UTF-8"),
    ],
)
def test_a_fault_names_its_byte_and_what_mends_it(
    raw: bytes, charset: str | None, field: str, says: str
) -> None:
    found, message = only_fault(raw, "csv", charset)
    assert (found, message[: len(says)]) == (field, says)
