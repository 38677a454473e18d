"""The API as production runs it: one real gunicorn on a port of its own."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from aijobs.engine.settings import Settings
from aijobs.http.embedded.directory import Directory
from aijobs.http.embedded.process import Process
from aijobs.http.embedded.programs import programs
from aijobs.http.embedded.records import Records
from tests.eventually import eventually
from tests.world import ROOM_VARIABLES

_START_SECONDS = 60


@contextmanager
def api_process(
    settings: Settings, folder: Path, records: Records, **environ: str
) -> Iterator[str]:
    """The URL of an API that answers; it is killed at the end."""
    places = {"DATABASE_URL": settings.database_url, "REDIS_URL": settings.redis_url}
    env = {**os.environ, **ROOM_VARIABLES, **places, **environ}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = next(programs(Directory(folder), env, Settings.from_env(env), listener))
        process = Process(command)
        records.add(process, tier=1)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        eventually(lambda: _answers(process, url), _START_SECONDS)
        yield url
    finally:
        process.kill()
        records.remove(process)


def _answers(process: Process, url: str) -> bool:
    if process.exit_status() is not None:
        raise RuntimeError(process.command.log.read_text())
    try:
        return httpx.get(f"{url}/healthz", timeout=5, trust_env=False).is_success
    except httpx.HTTPError:
        return False
