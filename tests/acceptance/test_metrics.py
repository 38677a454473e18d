"""One scrape of `aijobs dev` tells what its API and all of its workers have counted."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import psycopg2
import pytest

from tests.eventually import eventually
from tests.processes import runs
from tests.scrape import Scrape, scrape
from tests.stack import Stack

JOBS = 3
WORKER = "worker ai-interactive"


@pytest.fixture
def stack(server_folder: Path) -> Iterator[Stack]:
    stack = Stack(server_folder)
    yield stack
    stack.clear_away()


def _work(stack: Stack, count: int) -> None:
    """So many quizzes, one after the other, to their end."""
    token, base = stack.env["AIJOBS_USER_TOKEN"], f"{stack.env['AIJOBS_URL']}/api/ai"
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(headers=headers, trust_env=False, timeout=60) as client:
        made = client.post(f"{base}/knowledge-bases", json={"title": "The cell"}).json()
        body = "The nucleus is the part of the cell that holds its genome. It has two membranes."
        points = [{"title": title, "body": body} for title in ("Nucleus", "Genome", "Envelope")]
        client.post(f"{base}/knowledge-bases/{made['id']}/points", json={"points": points})
        target = {"targetType": "knowledge_base", "targetId": made["id"]}
        for _ in range(count):
            quiz = {"jobType": "quiz_generation", "questionCount": 2, **target}
            job_id = client.post(f"{base}/jobs", json=quiz).json()["jobId"]
            ended = client.get(f"{base}/jobs/{job_id}", params={"wait": 60}).json()
            assert ended["lifecycleStatus"] == "succeeded"


def _booked(stack: Stack) -> dict[str, int]:
    """What the journal says of all calls."""
    sql = "SELECT count(*), sum(input_tokens), sum(output_tokens) FROM ai_usage_log"
    with closing(psycopg2.connect(stack.env["DATABASE_URL"])) as connection:
        cursor = connection.cursor()
        cursor.execute(sql)
        found: Any = cursor.fetchone()
    return dict(zip(("calls", "input", "output"), map(int, found), strict=True))


def _told(stack: Stack) -> Scrape:
    return scrape(stack.env["AIJOBS_URL"])


def _counted(told: Scrape) -> dict[str, float | None]:
    tokens = "aijobs_call_tokens_total"
    return {
        "calls": told.value("aijobs_calls_total", outcome="ok", provider="offline"),
        "input": told.value(tokens, direction="input", provider="offline"),
        "output": told.value(tokens, direction="output", provider="offline"),
    }


def _all_ended(stack: Stack, jobs: int) -> None:
    """COMPLETE comes after the user's answer, in another worker."""
    ends = {"job_type": "quiz_generation", "status": "succeeded", "error_code": ""}
    eventually(lambda: _told(stack).value("aijobs_job_ends_total", **ends) == jobs, 30)


def test_a_scrape_tells_the_workers_counts_also_when_one_was_killed(stack: Stack) -> None:
    stack.start()
    _work(stack, JOBS)
    _all_ended(stack, JOBS)
    before = _told(stack)
    assert _booked(stack)["calls"] == JOBS
    assert _counted(before) == _booked(stack)
    passes = before.value("aijobs_passes_total", **{"pass": "reaper"}, result="succeeded")
    assert passes is not None and passes >= 1
    assert before.value("aijobs_http_requests_total", method="POST", status="201") == 2 + JOBS
    # The long polls of this test are no requests that took long.
    one = "/api/ai/jobs/{job_id:uuid}"
    assert before.value("aijobs_http_requests_total", route=one) == JOBS
    assert before.value("aijobs_http_request_seconds_count", route=one) is None

    pid = stack.processes()[WORKER]
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: stack.processes().get(WORKER, pid) != pid and not runs(pid), 30)
    _work(stack, JOBS)
    _all_ended(stack, 2 * JOBS)
    after = _told(stack)
    assert _booked(stack)["calls"] == 2 * JOBS
    assert _counted(after) == _booked(stack)

    stack.interrupt()
    stack.start()
    anew = _told(stack)
    assert anew.value("aijobs_database_up") == 1
    assert anew.value("aijobs_calls_total") is None
    stack.interrupt()
