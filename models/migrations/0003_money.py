"""Users' settings, the ledger of jobs, tokens and cost, the circuits of the platform's routes."""

from pathlib import Path

_FOLDER = Path(__file__).parent


def up(migrator, db):  # type: ignore[no-untyped-def]
    for name in ("0003_money.sql", "0003_ledger.sql", "0003_circuit.sql"):
        db.execute_sql((_FOLDER / name).read_text(encoding="utf-8").replace("%", "%%"), ())
