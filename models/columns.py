"""Between dataclasses, rows and statement parameters, without deep copies and query building.

Peewee builds a SELECT in half a millisecond and `dataclasses.asdict` copies whole documents: on the
path of every job neither is worth it.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from aijobs.models import database as db

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")


def columns_of(value: DataclassInstance) -> dict[str, Any]:
    """Field name -> value, one level deep."""
    return {name: getattr(value, name) for name in _names(type(value))}


def model_of(model: type[T], row: dict[str, Any]) -> T:
    """A whole row as its model: the driver has converted it, so no field has to."""
    made = model()
    made.__data__ = row  # type: ignore[attr-defined]
    return made


def one(model: type[T], condition: str, params: dict[str, Any]) -> T | None:
    """The row of a table that meets a condition (constants and %(names)s only), as its model."""
    table = model._meta.table_name  # type: ignore[attr-defined]
    row = db.row(f"SELECT * FROM {table} WHERE {condition}", params)
    return None if row is None else model_of(model, row)


@cache
def _names(kind: type[DataclassInstance]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
