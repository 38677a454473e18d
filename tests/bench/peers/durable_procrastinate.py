"""Procrastinate: jobs in PostgreSQL, enqueued with the data; no steps, no fence."""

# mypy: disable-error-code="import-not-found,untyped-decorator"

from __future__ import annotations

import os
import sys
from typing import Any

import procrastinate

from tests.bench.peers import work

URL = os.environ["DATABASE_URL"]
app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=URL, max_size=12))


@app.task(name="job", queue="bench")
def job(job_id: str) -> None:
    connection = work.connect()
    work.do(connection, job_id)
    connection.close()


def main(count: int) -> None:
    work.reset()
    client = procrastinate.App(connector=procrastinate.SyncPsycopgConnector(conninfo=URL))
    connection: Any = work.connect()
    with client.open():
        client.schema_manager.apply_schema()
        deferrer = client.configure_task("job", queue="bench", allow_unknown=True)

        def enqueue(job_id: str) -> None:
            work.put_input(connection, job_id)
            deferrer.defer(job_id=job_id)

        words = [sys.executable, "-m", "tests.bench.peers.durable_procrastinate", "worker"]
        work.report(work.measure(enqueue, [words, words], count))


if __name__ == "__main__":
    if sys.argv[1] == "worker":
        app.run_worker(queues=["bench"], concurrency=8)
    else:
        main(int(sys.argv[1]))
