"""Who is kept waiting by what: places for probes, a held circuit, limits that have changed."""

from pathlib import Path


def up(migrator, db):  # type: ignore[no-untyped-def]
    db.execute_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"), ())
