"""Periodic passes: one at a time per name, their last run on record, bounded purges."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aijobs.models import database as db

# The success is written before the work and rolled back with it: one statement less in each pass.
_GATE = """
WITH before AS (SELECT last_succeeded_at FROM maintenance_pass WHERE name = %(name)s)
INSERT INTO maintenance_pass AS pass (name, last_started_at, last_succeeded_at)
SELECT %(name)s, now(), now() WHERE pg_try_advisory_xact_lock(hashtext('aijobs:' || %(name)s))
ON CONFLICT (name) DO UPDATE
SET last_started_at = now(), last_succeeded_at = now(), last_error = NULL
WHERE pass.last_started_at IS NULL
   OR pass.last_started_at < now() - %(min_seconds)s * interval '1 second'
RETURNING extract(epoch FROM now() - (SELECT last_succeeded_at FROM before))::float AS since_success
"""

# The row `<name>:wait` keeps when the wait began (last_started_at) and when it was last looked at
# (last_succeeded_at). It begins anew after a success, and after a gap in the looks: another outage.
_WAIT = """
INSERT INTO maintenance_pass AS wait (name, last_started_at, last_succeeded_at)
VALUES (%(wait)s, now(), now())
ON CONFLICT (name) DO UPDATE SET last_succeeded_at = now(), last_started_at = CASE
    WHEN wait.last_started_at < (
        SELECT last_succeeded_at FROM maintenance_pass WHERE name = %(name)s)
      OR wait.last_succeeded_at < now() - %(gap_seconds)s * interval '1 second'
    THEN now() ELSE wait.last_started_at END
RETURNING last_started_at <= now() - %(seconds)s * interval '1 second' AS waited
"""

#: The pass that looks after circuits; a system whose circuits have long been closed is spared it.
CIRCUITS = "circuits"

_DUE = """
SELECT wanted.name FROM unnest(%(names)s::text[], %(ages)s::float[]) AS wanted (name, age)
LEFT JOIN maintenance_pass pass ON pass.name = wanted.name
WHERE (pass.last_started_at IS NULL
       OR pass.last_started_at < now() - wanted.age * interval '1 second')
  AND (wanted.name <> %(circuits)s OR EXISTS (
      SELECT FROM platform_circuit
      WHERE state <> 'closed' OR changed_at > now() - interval '1 hour'))
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
        return work(gate[0])


class Waiting(Exception):
    """A pass that deliberately does nothing yet: no success, and nothing wrong."""


def waited(name: str, seconds: float, *, gap_seconds: float) -> bool:
    """Whether this pass began to wait at least `seconds` ago, since its last success; the first
    call after a success begins the wait, and so does one after no call for `gap_seconds`."""
    params = {"name": name, "wait": f"{name}:wait", "seconds": seconds, "gap_seconds": gap_seconds}
    row = db.statement("pass", _WAIT, params)
    return bool(row and row[0]["waited"])


def record_failure(name: str, error: str) -> None:
    """Note why a pass failed."""
    db.statement("pass_failed", _FAILED, {"name": name, "error": error[:500]})


def due(ages: Mapping[str, float]) -> set[str]:
    """The passes that have not begun for as many seconds as `ages` says (but `CIRCUITS`)."""
    params = {"names": list(ages), "ages": list(ages.values()), "circuits": CIRCUITS}
    return {row["name"] for row in db.read(lambda: db.rows(_DUE, params))}
