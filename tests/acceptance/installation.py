"""A whole installation on servers of its own, and a hundred jobs that outlive what befalls it.

The programs are those of production; the provider is beside them, and its own log says what was
asked of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import redis

from aijobs.engine.signals import Signals
from aijobs.http.embedded.records import Records
from aijobs.http.tokens import issue
from aijobs.models import database as db
from aijobs.models import migrate
from tests.acceptance.fleet import Fleet
from tests.eventually import eventually
from tests.scripted_provider import ScriptedProvider, read_log
from tests.servers import OwnPostgres, OwnValkey
from tests.world import World, settings_for, world

JOBS = 100
THREADS = {"ai-interactive": 16}
CALL_SECONDS = 0.8

_RECOVERY_SECONDS = 120
#: Recovery is as by default, only sooner.
_QUICK = {
    "AIJOBS_LEASE_SECONDS": "10",
    "AIJOBS_LEASE_GRACE_SECONDS": "2",
    "AIJOBS_REAPER_INTERVAL_SECONDS": "2",
    "AIJOBS_REDISPATCH_SECONDS": "2",
    "AIJOBS_OUTBOX_POLL_SECONDS": "0.5",
    "AIJOBS_OUTBOX_LOCK_SECONDS": "5",
}


@dataclass(frozen=True)
class System:
    """Everything of one installation, within reach of the test."""

    postgres: OwnPostgres
    valkey: OwnValkey
    fleet: Fleet
    provider: ScriptedProvider
    provider_log: Path
    here: World

    def create(self, count: int) -> list[UUID]:
        """Jobs as POST /jobs makes them, and the hint after them."""
        with ThreadPoolExecutor(4) as pool:
            made = list(pool.map(lambda _: self.here.create(questionCount=2).id, range(count)))
        with self.redis() as client:
            Signals(client).hint_outbox()
        return made

    def ask(self) -> UUID:
        """A job through the API. Its hint may be lost; the answer may not."""
        target = {"targetType": "knowledge_base", "targetId": str(self.here.base_id)}
        token = issue(self.fleet.settings, self.here.user_id, "USER", 600)
        answer = httpx.post(
            f"{self.fleet.url}/api/ai/jobs",
            json={"jobType": "quiz_generation", "questionCount": 2, **target},
            headers={"Authorization": f"Bearer {token}"},
            timeout=30,
            trust_env=False,
        )
        assert answer.status_code == 201, answer.text
        return UUID(answer.json()["jobId"])

    def calls(self) -> list[dict[str, Any]]:
        """The provider's own log."""
        return read_log(self.provider_log)

    def redis(self) -> redis.Redis:
        return redis.Redis.from_url(self.valkey.url)


@contextmanager
def installed(folder: Path, records: Records, **more: str) -> Iterator[System]:
    """An installation in `folder`, ready; `more`: settings by their variables."""
    postgres, valkey = OwnPostgres(folder, records=records), OwnValkey(folder, records=records)
    log = folder / "provider.jsonl"
    try:
        postgres.start()
        valkey.start()
        migrate.run(postgres.url)
        with ScriptedProvider(log=log, unique_answers=True) as provider:
            provider.script("slow", seconds=CALL_SECONDS)
            environ = _QUICK | {
                "DATABASE_URL": postgres.url,
                "REDIS_URL": valkey.url,
                "AIJOBS_PROVIDER": "openai",
                "AIJOBS_PROVIDER_BASE_URL": provider.base_url,
                "AIJOBS_PROVIDER_API_KEY": "sk-of-the-tests",
                **more,
            }
            fleet = Fleet(folder / "fleet", environ, records)
            try:
                fleet.start(THREADS)
                eventually(fleet.is_ready, 60)
                with world(settings_for(postgres.url, valkey.url)) as here:
                    yield System(postgres, valkey, fleet, provider, log, here)
            finally:
                fleet.stop()
    finally:
        valkey.stop("kill")
        postgres.stop("kill")


class Round:
    """A hundred jobs from their creation over an outage to what must be true of them."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._calls_before = len(system.calls())
        self._processes = self._when_all_run()
        self.jobs = system.create(JOBS)
        eventually(self._is_under_way, 60)

    def outlived(self) -> None:
        """Everything is done, once, by the processes that were there before."""
        eventually(
            lambda: self._count("completed_at IS NOT NULL") == len(self.jobs), _RECOVERY_SECONDS
        )
        assert self._count("lifecycle_status = 'succeeded'") == len(self.jobs)
        assert self._count("retry_count > 0 OR crash_count > 0 OR internal_retry_count > 0") == 0
        self._each_was_asked_once()
        self._each_has_its_effects_once()
        assert self._system.fleet.processes() == self._processes
        eventually(self._system.fleet.is_ready, 30)

    def _when_all_run(self) -> set[tuple[int, float]]:
        """A job has gone through, so that every master has its children."""
        first = self._system.create(1)
        eventually(lambda: self._count("completed_at IS NOT NULL", first) == 1, 60)
        self._calls_before += 1
        return self._system.fleet.processes()

    def _is_under_way(self) -> bool:
        """Some are done, as many as there are threads are being answered, and many wait."""
        calls = self._system.calls()[self._calls_before :]
        open_calls = [call for call in calls if call["outcome"] == "received"]
        waiting = self._count("lifecycle_status = 'queued'")
        assert waiting > 0, "too late: nothing waits any more"
        return len(calls) > len(open_calls) >= THREADS["ai-interactive"] / 2

    def _each_was_asked_once(self) -> None:
        calls = self._system.calls()[self._calls_before :]
        assert {call["outcome"] for call in calls} == {"answered"}
        assert len(calls) == len({call["sha"] for call in calls}) == len(self.jobs)
        booked = Counter(
            (row["job_id"], row["state"])
            for row in self._rows(
                "SELECT job_id, state FROM ai_usage_log WHERE job_id = ANY (%(ids)s)"
            )
        )
        assert booked == {(job_id, "completed"): 1 for job_id in self.jobs}

    def _each_has_its_effects_once(self) -> None:
        for table, each in (("notification", 1), ("ai_job_artifact", 2), ("ai_job_result", 1)):
            found = self._rows(f"SELECT job_id FROM {table} WHERE job_id = ANY (%(ids)s)")
            assert Counter(row["job_id"] for row in found) == dict.fromkeys(self.jobs, each), table

    def _count(self, condition: str, ids: list[UUID] | None = None) -> int:
        sql = f"SELECT count(*) AS n FROM ai_job WHERE id = ANY (%(ids)s) AND ({condition})"
        return int(self._rows(sql, ids)[0]["n"])

    def _rows(self, sql: str, ids: list[UUID] | None = None) -> list[dict[str, Any]]:
        wanted = {"ids": ids or self.jobs}
        return db.read(lambda: db.rows(sql, wanted), patient=lambda: True)
