"""Fifty jobs while the platform's provider is out of order: they wait, and then all succeed.

The programs are those of production; the provider's own log says how often it was asked meanwhile.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aijobs.http.embedded.records import Records
from aijobs.models import database as db
from tests.acceptance.installation import THREADS, System, installed
from tests.eventually import eventually

JOBS = 50
PAUSE_SECONDS = 6.0
RECOVERY_SECONDS = 60
FAILURES_TO_OPEN = 10
_QUICK = {
    "AIJOBS_CIRCUIT_OPEN_SECONDS": "1",
    "AIJOBS_REAPER_INTERVAL_SECONDS": "1",
    # What a circuit keeps waiting is woken by its change: the sweep must not be the one.
    "AIJOBS_REDISPATCH_SECONDS": "60",
}


@pytest.fixture(scope="module")
def system(run_directory: Path, run_records: Records) -> Iterator[System]:
    folder = run_directory / "circuit"
    folder.mkdir()
    with installed(folder, run_records, **_QUICK) as made:
        yield made


def _rows(sql: str, **params: Any) -> list[dict[str, Any]]:
    return db.read(lambda: db.rows(sql, params))


class Outage:
    """Jobs made while the provider answers with a fault; `faults` of them were seen by it."""

    def __init__(self, system: System, knob: str) -> None:
        self._system = system
        self._before = len(system.calls())
        [last] = _rows("SELECT coalesce(max(id), 0) AS id FROM admin_audit")
        self._audited = int(last["id"])
        system.provider.script(knob)
        self.jobs = system.create(JOBS)
        eventually(lambda: self.probed() > 0, 30)
        self._pass(PAUSE_SECONDS)
        assert self._count("lifecycle_status = 'succeeded'") == 0

    def ends(self) -> None:
        """The provider is well again; everything is done."""
        self.calls = len(self._system.calls()) - self._before
        self._system.provider.script("ok")
        done = "completed_at IS NOT NULL"
        eventually(lambda: self._count(done) == JOBS, RECOVERY_SECONDS)
        assert self._count("lifecycle_status = 'succeeded'") == JOBS
        [circuit] = _rows("SELECT state, consecutive_failures FROM platform_circuit")
        assert circuit == {"state": "closed", "consecutive_failures": 0}

    def probed(self) -> int:
        """How often the circuit was half open since the outage began."""
        return self.changes()["circuit.half_open"]

    def changes(self) -> Counter[str]:
        """Its changes since then."""
        found = _rows("SELECT what FROM admin_audit WHERE id > %(after)s", after=self._audited)
        return Counter(row["what"] for row in found)

    def retries(self) -> list[int]:
        """The jobs' counts of retries, sorted."""
        sql = "SELECT retry_count FROM ai_job WHERE id = ANY (%(ids)s)"
        return sorted(row["retry_count"] for row in _rows(sql, ids=self.jobs))

    def used_nothing_else_up(self) -> None:
        """Nobody crashed, nobody was asked again after an answer."""
        assert self._count("crash_count > 0 OR internal_retry_count > 0") == 0
        answered = _rows(
            "SELECT job_id FROM ai_usage_log WHERE job_id = ANY (%(ids)s) AND state = 'completed'",
            ids=self.jobs,
        )
        assert Counter(row["job_id"] for row in answered) == dict.fromkeys(self.jobs, 1)

    def _count(self, condition: str) -> int:
        sql = f"SELECT count(*) AS n FROM ai_job WHERE id = ANY (%(ids)s) AND ({condition})"
        return int(_rows(sql, ids=self.jobs)[0]["n"])

    def _pass(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        eventually(lambda: time.monotonic() >= until, seconds + 10)


_long = pytest.mark.long


@pytest.mark.parametrize(
    "knob",
    [
        "402",
        pytest.param("401", marks=_long),
        pytest.param("bad_model_400", marks=_long),
        pytest.param("404_html", marks=_long),
    ],
)
def test_a_fault_of_the_account_costs_the_jobs_nothing(system: System, knob: str) -> None:
    """While it lasts, one probe at a time; those under way when it opened had begun already."""
    outage = Outage(system, knob)
    outage.ends()
    assert outage.retries() == [0] * JOBS
    outage.used_nothing_else_up()
    assert outage.calls <= THREADS["ai-interactive"] + outage.probed()
    changes = outage.changes()
    assert changes["circuit.open"] == changes["circuit.half_open"] >= 2
    assert changes["circuit.closed"] == 1


def test_a_server_that_is_down_costs_the_jobs_little(system: System) -> None:
    """Ten failures in a row are retries of their jobs; from then on nobody's are."""
    outage = Outage(system, "503")
    outage.ends()
    retries = outage.retries()
    assert sum(retries) < FAILURES_TO_OPEN
    assert retries[-1] <= 1
    outage.used_nothing_else_up()
    most = FAILURES_TO_OPEN + THREADS["ai-interactive"] + 2 * outage.probed()
    assert FAILURES_TO_OPEN <= outage.calls <= most
