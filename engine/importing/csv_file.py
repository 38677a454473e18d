"""CSV: a header that names title and body (or front and back) and maybe tags, then a point a row.

Quotes are those of RFC 4180. Invariant: no more than ROW_LENGTH characters are read for one row, so
that a quote that is never closed is found near where it was opened.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass

from aijobs.engine.importing.draft import Draft, Drafts
from aijobs.engine.importing.lines import lines_of
from aijobs.engine.sentence import Sentence

ROW_LENGTH = 100_000

_DELIMITERS = ",;\t|"
_PAIRS = (("title", "body"), ("front", "back"))
_TAGS = "tags"
_BETWEEN_TAGS = re.compile("[;,；，]")


def read_csv(text: str, drafts: Drafts) -> None:
    """Add the point of every row."""
    rows, columns = _begin(text, drafts)
    line = None
    for row in rows:
        if any(cell.strip() for cell in row.cells):
            line = row.line
            _add(row, columns, drafts)
    if line is None:
        empty = Sentence("no row below the header: write one for each point")
        raise drafts.end(columns.line + 1, empty)


@dataclass(frozen=True, slots=True)
class _Row:
    line: int
    cells: list[str]


@dataclass(frozen=True, slots=True)
class _Columns:
    """Names of the header in order, its line, and which of them hold what."""

    line: int
    names: list[str]
    title: str
    body: str

    def of(self, row: _Row) -> dict[str, str]:
        """The row's cells by name; cells that are missing at its end are empty."""
        cells = row.cells + [""] * (len(self.names) - len(row.cells))
        return dict(zip(self.names, cells, strict=False))


class _Unreadable(Exception):
    """A row that is no CSV: its first line, and why."""

    def __init__(self, line: int, message: Sentence) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


def _begin(text: str, drafts: Drafts) -> tuple[Iterator[_Row], _Columns]:
    """The rows below the header, and its columns, with the delimiter that finds these."""
    for delimiter in _DELIMITERS:
        rows = _rows(text, delimiter)
        try:
            header = next((row for row in rows if any(map(str.strip, row.cells))), None)
        except _Unreadable:
            continue
        columns = None if header is None else _columns(header, drafts)
        if columns is not None:
            return _readable(rows, drafts), columns
    message = Sentence(
        "no header: name the columns title and body (or front and back) in the first line"
    )
    raise drafts.end(1, message)


def _readable(rows: Iterator[_Row], drafts: Drafts) -> Iterator[_Row]:
    try:
        yield from rows
    except _Unreadable as problem:
        raise drafts.end(problem.line, problem.message) from None


def _rows(text: str, delimiter: str) -> Iterator[_Row]:
    """Raises _Unreadable."""
    source = _Source(text)
    reader = csv.reader(source, delimiter=delimiter, skipinitialspace=True, strict=True)
    while True:
        source.begin_row()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error:
            raise _Unreadable(
                source.first_line,
                Sentence(
                    "the quotes do not match: close every quoted cell, and write a quote in it "
                    "twice"
                ),
            ) from None
        yield _Row(source.first_line, cells)


class _Source:
    """The lines as csv reads them, with the first line and the size of the row under way."""

    def __init__(self, text: str) -> None:
        self._lines = lines_of(text)
        self._number = 0
        self._size = 0
        self.first_line = 1

    def begin_row(self) -> None:
        self.first_line, self._size = self._number + 1, 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self._number = line.number
        self._size += len(line.text) + 1
        if self._size > ROW_LENGTH:
            raise _Unreadable(
                self.first_line,
                Sentence(
                    "the row has more than {limit} characters: close its quotes, or split it",
                    limit=ROW_LENGTH,
                ),
            )
        return f"{line.text}\n"


def _columns(header: _Row, drafts: Drafts) -> _Columns | None:
    names = [cell.strip().casefold() for cell in header.cells]
    pair = next(((t, b) for t, b in _PAIRS if t in names and b in names), None)
    if pair is None:
        return None
    for name in (*pair, _TAGS):
        if names.count(name) > 1:
            twice = Sentence("column {column} appears twice: rename one of them", column=name)
            raise drafts.end(header.line, twice)
    return _Columns(header.line, names, *pair)


def _add(row: _Row, columns: _Columns, drafts: Drafts) -> None:
    if any(cell.strip() for cell in row.cells[len(columns.names) :]):
        drafts.fault(
            row.line,
            Sentence(
                "{cells} cells below a header of {columns}: put cells that hold the delimiter in "
                "quotes",
                cells=len(row.cells),
                columns=len(columns.names),
            ),
        )
        return
    cells = columns.of(row)
    title, body = " ".join(cells[columns.title].split()), cells[columns.body].strip()
    if not title:
        drafts.fault(
            row.line,
            Sentence("no title: give the row a text in column {column}", column=columns.title),
        )
    if not body:
        drafts.fault(
            row.line,
            Sentence("no text: give the row a text in column {column}", column=columns.body),
        )
    if title and body:
        drafts.add(Draft(row.line, title, body, _tags(cells.get(_TAGS, ""))))


def _tags(cell: str) -> tuple[str, ...]:
    found = (" ".join(tag.split()) for tag in _BETWEEN_TAGS.split(cell))
    return tuple(dict.fromkeys(tag for tag in found if tag))
