"""Jobs per second and idle latency of the whole pipeline, on servers and workers of its own.

`python -m tests.bench.pipeline [JOBS]` prints one JSON object: jobs_per_s from the first create to
the last artifact with the workers already up; idle_p50_ms and idle_p95_ms from a create to the
commit of its artifacts on an idle system.
"""

from __future__ import annotations

import json
import os
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg2

from aijobs.engine.signals import Signals
from aijobs.models import migrate
from tests.eventually import eventually
from tests.servers import OwnPostgres, OwnValkey
from tests.world import ROOM_VARIABLES, settings_for, world

LATENCIES = 40
PROCESSES = {"ai-interactive": (2, 8), "system": (1, 4)}

_WATCH = """
CREATE FUNCTION bench_notify() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN PERFORM pg_notify('bench_done', new.job_id::text); RETURN NULL; END $$;
CREATE TRIGGER bench_done AFTER INSERT ON ai_job_artifact FOR EACH ROW WHEN (new.ordinal = 4)
    EXECUTE FUNCTION bench_notify();
"""


def main(count: int) -> None:
    with tempfile.TemporaryDirectory(prefix="aijobs-bench-") as folder:
        postgres = OwnPostgres(Path(folder), {"max_connections": "200"})
        valkey = OwnValkey(Path(folder))
        postgres.start()
        valkey.start()
        try:
            print(json.dumps(measure(postgres.url, valkey.url, count)))
        finally:
            valkey.stop()
            postgres.stop()


def measure(database_url: str, redis_url: str, count: int) -> dict[str, Any]:
    """The figures of one run."""
    migrate.run(database_url)
    watch = psycopg2.connect(database_url)
    watch.autocommit = True
    cursor = watch.cursor()
    cursor.execute(_WATCH)
    settings = settings_for(database_url, redis_url)
    signals = Signals.connect(redis_url)
    with world(settings) as made, workers(database_url, redis_url):

        def create() -> str:
            job = made.create(questionCount=5)
            signals.hint_outbox()
            return str(job.id)

        create()
        eventually(lambda: _ended(cursor) == 1, 60)
        return {**_throughput(create, cursor, count), **_latency(create, watch, cursor)}


@contextmanager
def workers(database_url: str, redis_url: str) -> Iterator[None]:
    """Worker processes as in production, on both cores."""
    environ = {**os.environ, "DATABASE_URL": database_url, "REDIS_URL": redis_url}
    environ |= ROOM_VARIABLES | {"AIJOBS_LOG_LEVEL": "warning", "AIJOBS_DATABASE_CONNECTIONS": "8"}
    started = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "dramatiq", "tests.bench.instant:broker", "-Q", queue),
                *("--processes", str(processes), "--threads", str(threads)),
            ],
            env=environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for queue, (processes, threads) in PROCESSES.items()
    ]
    try:
        yield
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(30)


def _throughput(create: Callable[[], str], cursor: Any, count: int) -> dict[str, Any]:
    before = _ended(cursor)
    began = time.perf_counter()
    for _ in range(count):
        create()
    created = time.perf_counter()
    eventually(lambda: _ended(cursor) == before + count, 300)
    ended = time.perf_counter()
    return {
        "jobs": count,
        "creates_per_s": round(count / (created - began), 1),
        "jobs_per_s": round(count / (ended - began), 1),
    }


def _latency(create: Callable[[], str], watch: Any, cursor: Any) -> dict[str, Any]:
    cursor.execute("LISTEN bench_done")
    taken = []
    for number in range(LATENCIES):
        select.select([], [], [], 0.15 + (number % 7) * 0.03)
        watch.poll()
        watch.notifies.clear()
        began = time.perf_counter()
        job_id = create()
        while job_id not in [notice.payload for notice in watch.notifies]:
            select.select([watch], [], [], 5)
            watch.poll()
        taken.append((time.perf_counter() - began) * 1000)
    taken.sort()
    return {
        "idle_p50_ms": round(statistics.median(taken), 1),
        "idle_p95_ms": round(taken[int(0.95 * len(taken))], 1),
    }


def _ended(cursor: Any) -> int:
    cursor.execute("SELECT count(*) FROM ai_job WHERE lifecycle_status = 'succeeded'")
    return int(cursor.fetchone()[0])


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
