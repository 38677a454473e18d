"""Schemas of the document as tables that a person reads: one row a field, nested ones by path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from aijobs.http.docs_page.words import kind_of, limits_of

Schema = dict[str, Any]

_REF = "#/components/schemas/"


@dataclass(frozen=True, slots=True)
class Row:
    """One field. `name` is its path, such as `points[].title`."""

    name: str
    kind: str
    required: bool
    limits: tuple[str, ...]
    choices: tuple[str, ...]
    sentence: str


@dataclass(frozen=True, slots=True)
class Table:
    """The fields of an object, and those of each kind of object in one of its fields."""

    rows: list[Row]
    variants: list[Variant] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Variant:
    """One of several kinds of object, told apart by a field."""

    name: str
    sentence: str
    table: Table


class Tables:
    """Makes tables of the schemas of one document."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._schemas: dict[str, Schema] = document["components"]["schemas"]

    def of(self, schema: Schema) -> Table:
        """The table of an object, or of the kinds that it may be."""
        found = self.resolved(schema)
        variants = list(self._variants(found))
        rows = list(self._rows(found, "", variants))
        return Table(rows, variants)

    def resolved(self, schema: Schema) -> Schema:
        """The schema itself, or the one that it refers to with what it adds."""
        if "$ref" not in schema:
            return schema
        added = {key: value for key, value in schema.items() if key != "$ref"}
        return {**self._schemas[schema["$ref"].removeprefix(_REF)], **added}

    def row(self, name: str, schema: Schema, *, required: bool) -> Row:
        """A field or parameter as a row."""
        limits, choices = limits_of(schema)
        kind = kind_of(schema, self.resolved)
        return Row(name, kind, required, limits, choices, schema.get("description", ""))

    def _rows(self, schema: Schema, prefix: str, variants: list[Variant]) -> Iterator[Row]:
        required = schema.get("required", ())
        for name, given in schema.get("properties", {}).items():
            found = self.resolved(given)
            yield self.row(prefix + name, found, required=name in required)
            inner, path = self._inner(found, f"{prefix}{name}")
            variants.extend(self._variants(inner))
            yield from self._rows(inner, f"{path}.", variants)

    def _inner(self, schema: Schema, path: str) -> tuple[Schema, str]:
        """What is inside of lists, with `[]` after the path for each."""
        while "items" in schema:
            schema, path = self.resolved(schema["items"]), f"{path}[]"
        return schema, path

    def _variants(self, schema: Schema) -> Iterator[Variant]:
        for name, ref in schema.get("discriminator", {}).get("mapping", {}).items():
            found = self.resolved({"$ref": ref})
            yield Variant(name, found.get("description", ""), self.of(found))
