"""Dramatiq on Redis, one actor a job: nothing is durable, nothing is enqueued with the data."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from tests.bench.peers import work

broker = RedisBroker(url=os.environ["REDIS_URL"])
_local = threading.local()


@dramatiq.actor(broker=broker)
def job(job_id: str) -> None:
    if not hasattr(_local, "connection"):
        _local.connection = work.connect()
    work.do(_local.connection, job_id)


def main(count: int) -> None:
    work.reset()
    connection: Any = work.connect()

    def enqueue(job_id: str) -> None:
        work.put_input(connection, job_id)
        job.send(job_id)

    module = "tests.bench.peers.bare_dramatiq:broker"
    words = [sys.executable, "-m", "dramatiq", module, "--processes", "2", "--threads", "8"]
    work.report(work.measure(enqueue, [words], count))


if __name__ == "__main__":
    main(int(sys.argv[1]))
