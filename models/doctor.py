"""The invariants of the system, each a statement that counts what breaks it (sql/doctor/).

Invariant: on a healthy system every count is 0, whatever happens meanwhile: each statement sees
one instant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from aijobs.models import database as db
from aijobs.models.ledger import Budget
from aijobs.models.sql import load

_FOLDER = Path(__file__).parent / "sql" / "doctor"
_QUIET_SECONDS = 600.0  # in which whatever was lost is sent again


@dataclass(frozen=True, slots=True)
class Finding:
    """An invariant by its name, what it says, and how often it is broken."""

    name: str
    meaning: str
    violations: int


def examine(budget: Budget, *, missed_seconds: float) -> list[Finding]:
    """Every invariant, in the order of their names. Reads whole tables of the ledger.

    A lease that lapsed `missed_seconds` ago should have been dealt with.
    """
    params = budget.params() | {"missed_seconds": missed_seconds, "quiet_seconds": _QUIET_SECONDS}

    def count(name: str) -> int:
        found = db.read(lambda: db.row(load(f"doctor/{name}"), params))
        assert found is not None
        return int(found["violations"])

    return [Finding(name, meaning, count(name)) for name, meaning in _invariants()]


@cache
def _invariants() -> tuple[tuple[str, str], ...]:
    return tuple(_named(_FOLDER))


def _named(folder: Path) -> Iterator[tuple[str, str]]:
    """Each statement's name, and its meaning: the comment at its head."""
    for path in sorted(folder.glob("*.sql")):
        lines = path.read_text(encoding="utf-8").splitlines()
        yield path.stem, " ".join(line[3:] for line in lines if line.startswith("-- "))
