"""The core tables, and the triggers by which the database refuses unlisted transitions."""

from pathlib import Path

_FOLDER = Path(__file__).parent


def up(migrator, db):  # type: ignore[no-untyped-def]
    for name in ("0001_core.sql", "0001_guard.sql"):
        db.execute_sql((_FOLDER / name).read_text(encoding="utf-8").replace("%", "%%"), ())
