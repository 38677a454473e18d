"""What all tables share: the database, and short ways to declare what raw SQL must get as well."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from peewee import SQL, Model

from aijobs.models.database import database


class Table(Model):
    """Base of every table. DateTimeField is `timestamptz`, BigAutoField an identity column."""

    class Meta:
        database = database
        legacy_table_names = False


def default(literal: str) -> list[Any]:
    """A column default that raw SQL gets as well."""
    return [SQL(f"DEFAULT {literal}")]


NOW = default("now()")


def words(values: Iterable[str]) -> str:
    """`('a', 'b')`, for IN lists in DDL."""
    return "(" + ", ".join(f"'{value}'" for value in values) + ")"


def one_of(table: str, column: str, *values: str) -> Any:
    """A CHECK that a column holds one of these words."""
    return rule(f"{table}_{column}_known", f"{column} IN {words(values)}")


def rule(name: str, condition: str) -> Any:
    """A named CHECK."""
    return SQL(f"CONSTRAINT {name} CHECK ({condition})")


def foreign(column: str, target: str, *, on_delete: str = "CASCADE") -> Any:
    """A foreign key by column, without Peewee's object accessors."""
    return SQL(f"FOREIGN KEY ({column}) REFERENCES {target} ON DELETE {on_delete}")


def index(table: type[Table], name: str, columns: str, **options: Any) -> None:
    """Add an index by its SQL column list; `where` makes it partial, `unique` unique."""
    kind = "UNIQUE INDEX" if options.get("unique") else "INDEX"
    where = f" WHERE {options['where']}" if "where" in options else ""
    table.add_index(SQL(f"CREATE {kind} {name} ON {table._meta.table_name} ({columns}){where}"))
