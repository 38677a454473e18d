"""The work of one job for every peer, and how it is timed.

A job reads its input row, asks a function for a document of about 1 KB, and writes five rows,
unique per job, in one transaction; the last row notifies whoever waits. Source of the comparison:
the project's benchmark contract (what the peers promise beyond that differs: docs/benchmarks.md).
"""

from __future__ import annotations

import json
import os
import select
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import psycopg2

DOCUMENT = {
    "questions": [
        {"question": "x" * 120, "options": list("abcd"), "answer_index": 1} for _ in range(5)
    ]
}
INPUT = json.dumps({"text": "y" * 900, "n": 5})
LATENCIES = 40
ITEMS = 5

_SCHEMA = """
DROP TABLE IF EXISTS bench_artifact, bench_input;
CREATE TABLE bench_input (job_id text PRIMARY KEY, content jsonb NOT NULL);
CREATE TABLE bench_artifact (job_id text, ordinal int, content jsonb NOT NULL,
                             PRIMARY KEY (job_id, ordinal));
CREATE OR REPLACE FUNCTION bench_peer_notify() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN PERFORM pg_notify('bench_peer', new.job_id); RETURN NULL; END $$;
CREATE TRIGGER bench_peer AFTER INSERT ON bench_artifact FOR EACH ROW WHEN (new.ordinal = 4)
    EXECUTE FUNCTION bench_peer_notify();
"""


def connect() -> Any:
    return psycopg2.connect(os.environ["DATABASE_URL"])


def put_input(connection: Any, job_id: str) -> None:
    """What a durable enqueue has to leave behind."""
    with connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO bench_input VALUES (%s, %s)", (job_id, INPUT))


def do(connection: Any, job_id: str) -> None:
    """The job itself."""
    with connection, connection.cursor() as cursor:
        cursor.execute("SELECT content FROM bench_input WHERE job_id = %s", (job_id,))
        cursor.fetchone()
        for ordinal, item in enumerate(DOCUMENT["questions"]):
            cursor.execute(
                "INSERT INTO bench_artifact VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
                (job_id, ordinal, json.dumps(item)),
            )


def reset() -> None:
    connection = connect()
    with connection, connection.cursor() as cursor:
        cursor.execute(_SCHEMA)
    connection.close()


def measure(
    enqueue: Callable[[str], None], workers: Sequence[Sequence[str]], count: int
) -> dict[str, Any]:
    """jobs_per_s from the first enqueue to the last row; idle p50 from an enqueue to its rows."""
    started = [
        subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for words in workers
    ]
    watch = connect()
    watch.autocommit = True
    cursor = watch.cursor()
    cursor.execute("LISTEN bench_peer")
    try:
        enqueue("warm-up")
        _await(watch, {"warm-up"}, 60)
        return {**_throughput(enqueue, watch, count), **_latency(enqueue, watch)}
    finally:
        for process in started:
            process.terminate()
        for process in started:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def _throughput(enqueue: Callable[[str], None], watch: Any, count: int) -> dict[str, Any]:
    names = [f"b-{number}" for number in range(count)]
    began = time.perf_counter()
    for name in names:
        enqueue(name)
    _await(watch, set(names), 300)
    return {"jobs_per_s": round(count / (time.perf_counter() - began), 1)}


def _latency(enqueue: Callable[[str], None], watch: Any) -> dict[str, Any]:
    taken = []
    for number in range(LATENCIES):
        select.select([], [], [], 0.15 + (number % 7) * 0.03)
        began = time.perf_counter()
        enqueue(f"l-{number}")
        _await(watch, {f"l-{number}"}, 60)
        taken.append((time.perf_counter() - began) * 1000)
    return {"idle_p50_ms": round(statistics.median(taken), 1)}


def _await(watch: Any, names: set[str], seconds: float) -> None:
    give_up_at = time.monotonic() + seconds
    while names:
        watch.poll()
        names -= {notice.payload for notice in watch.notifies}
        watch.notifies.clear()
        if names and not select.select([watch], [], [], 1)[0] and time.monotonic() > give_up_at:
            raise SystemExit(f"{len(names)} jobs never finished")


def report(figures: dict[str, Any]) -> None:
    """One JSON object on standard output."""
    sys.stdout.write(json.dumps(figures) + "\n")
