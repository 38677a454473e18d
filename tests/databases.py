"""Databases for tests: copies of one template, emptied after a test instead of made anew.

Making one takes half a second, emptying one a hundredth. A test that changed the schema, or left a
session behind that does not end, costs its database.
"""

from __future__ import annotations

from contextlib import closing
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg2

from aijobs.models.tables import TABLES
from tests.eventually import eventually

#: What a schema consists of: a test that adds, drops or renames anything is noticed.
_SHAPE = """
SELECT md5(string_agg(concat_ws(' ', relname, attname, atttypid), ',' ORDER BY relname, attnum)),
       (SELECT count(*) FROM pg_trigger), (SELECT count(*) FROM pg_proc),
       (SELECT count(*) FROM pg_constraint)
FROM pg_class LEFT JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0
WHERE relnamespace = 'public'::regnamespace
"""
_END_SESSIONS = """
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = %s
"""
_EMPTY = "; ".join(f"DELETE FROM {table._meta.table_name}" for table in reversed(TABLES))


class Databases:
    """A pool of copies of a template."""

    def __init__(self, server_url: str, template: str) -> None:
        self._server_url = server_url
        self._template = template
        self._all: set[str] = set()
        self._spare: list[str] = []
        self._shape: tuple[Any, ...] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for url in list(self._all):
            self._drop(url)

    def take(self) -> str:
        """The URL of an empty database that nobody else has."""
        return self._spare.pop() if self._spare else self._make()

    def give_back(self, url: str) -> None:
        """End what still uses the database, and empty or drop it."""
        eventually(lambda: self._execute(self._server_url, _END_SESSIONS, _name(url))[0] == 0, 30)
        try:
            is_whole = self._execute(url, _SHAPE) == self._shape
            if is_whole:
                self._execute(url, _EMPTY)
                self._spare.append(url)
        except psycopg2.Error:
            is_whole = False
        if not is_whole:
            self._drop(url)

    def _make(self) -> str:
        name = f"aijobs_test_{uuid4().hex[:12]}"
        statement = f'CREATE DATABASE "{name}" TEMPLATE "{self._template}"'
        self._execute(self._server_url, statement)
        url = urlsplit(self._server_url)._replace(path=f"/{name}").geturl()
        self._all.add(url)
        self._shape = self._shape or self._execute(url, _SHAPE)
        return url

    def _drop(self, url: str) -> None:
        self._all.discard(url)
        self._execute(self._server_url, f'DROP DATABASE IF EXISTS "{_name(url)}" WITH (FORCE)')

    def _execute(self, url: str, sql: str, *params: str) -> tuple[Any, ...]:
        with closing(psycopg2.connect(url)) as connection:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute(sql, params or None)
                return (cursor.fetchone() or ()) if cursor.description else ()


def _name(url: str) -> str:
    return urlsplit(url).path.lstrip("/")
