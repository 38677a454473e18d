"""Creates over HTTP per second: a real API process, eight clients at once, no worker running."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx

from aijobs.http import tokens
from aijobs.models import migrate
from tests.eventually import eventually
from tests.world import ROOM_VARIABLES, World, settings_for, world

CREATES = 400
CLIENTS = 8


def creates_per_second(database_url: str, redis_url: str) -> float:
    """POST /api/ai/jobs with 201, over all clients."""
    migrate.run(database_url)
    settings = settings_for(database_url, redis_url)
    with world(settings) as made, _api(database_url, redis_url) as url:
        token = tokens.issue(settings, made.user_id, "USER", 600)
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=url, headers=headers, timeout=30, trust_env=False) as client:
            _create(client, made)
            began = time.perf_counter()
            with ThreadPoolExecutor(CLIENTS) as pool:
                list(pool.map(lambda _: _create(client, made), range(CREATES)))
            return round(CREATES / (time.perf_counter() - began), 1)


def _create(client: httpx.Client, made: World) -> None:
    body = {
        "jobType": "quiz_generation",
        "targetType": "knowledge_base",
        "targetId": str(made.base_id),
    }
    answer = client.post("/api/ai/jobs", json=body)
    assert answer.status_code == 201, answer.text


@contextmanager
def _api(database_url: str, redis_url: str) -> Iterator[str]:
    environ = {**os.environ, "DATABASE_URL": database_url, "REDIS_URL": redis_url}
    environ |= ROOM_VARIABLES
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "gunicorn", "aijobs.http.wsgi:create()"),
                *("--bind", f"fd://{listener.fileno()}", "--no-control-socket"),
                *("--worker-class", "gthread", "--threads", "16", "--log-level", "warning"),
            ],
            env=environ,
            pass_fds=[listener.fileno()],
            stderr=subprocess.DEVNULL,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        eventually(lambda: _is_up(url), 60)
        yield url
    finally:
        process.terminate()
        process.wait(30)


def _is_up(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False
