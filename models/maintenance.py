"""Periodic passes: one at a time per name, their last run on record, bounded purges."""

from __future__ import annotations

from collections.abc import Callable

from aijobs.models import database as db

_GATE = """
INSERT INTO maintenance_pass (name, last_started_at)
SELECT %(name)s, now() WHERE pg_try_advisory_xact_lock(hashtext('aijobs:' || %(name)s))
ON CONFLICT (name) DO UPDATE SET last_started_at = now()
WHERE maintenance_pass.last_started_at IS NULL
   OR maintenance_pass.last_started_at < now() - %(min_seconds)s * interval '1 second'
RETURNING extract(epoch FROM now() - maintenance_pass.last_succeeded_at)::float AS since_success
"""

_DONE = """
UPDATE maintenance_pass SET last_succeeded_at = now(), last_error = NULL WHERE name = %(name)s
"""

# The row `<name>:wait` keeps when the wait began; one from before the last success is an old wait.
_WAIT = """
INSERT INTO maintenance_pass (name, last_started_at) VALUES (%(wait)s, now())
ON CONFLICT (name) DO UPDATE SET last_started_at = CASE
    WHEN maintenance_pass.last_started_at < (
        SELECT last_succeeded_at FROM maintenance_pass WHERE name = %(name)s)
    THEN now() ELSE maintenance_pass.last_started_at END
RETURNING last_started_at <= now() - %(seconds)s * interval '1 second' AS waited
"""

_FAILED = """
INSERT INTO maintenance_pass (name, last_started_at, last_error) VALUES (%(name)s, now(), %(error)s)
ON CONFLICT (name) DO UPDATE SET last_started_at = now(), last_error = excluded.last_error
"""


def run_pass(name: str, work: Callable[[float | None], int], *, min_seconds: float) -> int | None:
    """Run `work` unless the pass runs elsewhere or began less than `min_seconds` ago (then None).

    `work` gets the seconds since the last success (None: never) and returns how much it did; it
    makes its own transactions while another connection holds the lock.
    """
    with db.gate() as within:
        gate = within(_GATE, {"name": name, "min_seconds": min_seconds})
        if gate is None:
            return None
        done = work(gate[0])
        within(_DONE, {"name": name})
        return done


class Waiting(Exception):
    """A pass that deliberately does nothing yet: no success, and nothing wrong."""


def waited(name: str, seconds: float) -> bool:
    """Whether this pass began to wait at least `seconds` ago, since its last success; the first
    call after a success begins the wait."""
    row = db.statement("pass", _WAIT, {"name": name, "wait": f"{name}:wait", "seconds": seconds})
    return bool(row and row[0]["waited"])


def record_failure(name: str, error: str) -> None:
    """Note why a pass failed."""
    db.statement("pass_failed", _FAILED, {"name": name, "error": error[:500]})


def overdue(names: list[str], seconds: float) -> list[str]:
    """Passes that have not begun for `seconds`."""
    recent = db.read(
        lambda: db.rows(
            "SELECT name FROM maintenance_pass WHERE name = ANY (%(names)s) "
            "AND last_started_at > now() - %(seconds)s * interval '1 second'",
            {"names": names, "seconds": seconds},
        )
    )
    begun = {row["name"] for row in recent}
    return [name for name in names if name not in begun]
