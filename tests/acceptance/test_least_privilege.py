"""The whole system as the roles and the Redis user of docs/operations.md, who may do no more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psycopg2
import pytest
import redis

from tests.eventually import eventually
from tests.servers import OwnPostgres, OwnValkey
from tests.stack import Stack

OPERATIONS = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
PASSWORD = "CHOOSE-ONE"
#: What a log says when something was not allowed.
REFUSED = re.compile("NOPERM|NoPermission|No permission|permission denied|InsufficientPrivilege")


@pytest.fixture
def stack(server_folder: Path) -> Iterator[Stack]:
    stack = Stack(server_folder)
    yield stack
    stack.clear_away()


def _told(beginning: str) -> list[str]:
    """The lines of the page's snippets that begin so."""
    return [line.strip() for line in OPERATIONS.splitlines() if line.startswith(f"    {beginning}")]


def _as_role(url: str, role: str, password: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=f"{role}:{password}@", path="/aijobs").geturl()


def _make_roles(url: str) -> None:
    made = [*_told("CREATE ROLE"), *_told("CREATE DATABASE")]
    assert len(made) == 3
    for database, statements in (
        (url, made),
        (urlsplit(url)._replace(path="/aijobs").geturl(), _told("ALTER ")),
    ):
        with closing(psycopg2.connect(database)) as connection:
            connection.autocommit = True
            for statement in statements:
                connection.cursor().execute(statement)


def _make_user(url: str) -> str:
    """The URL of the Redis user."""
    (line,) = _told("ACL SETUSER")
    with redis.Redis.from_url(url) as client:
        client.execute_command(*line.split())
    parts = urlsplit(url)
    return parts._replace(netloc=f"aijobs:{PASSWORD}@{parts.hostname}:{parts.port}").geturl()


@pytest.mark.long
def test_a_job_goes_its_whole_way(
    stack: Stack, own_postgres: OwnPostgres, own_valkey: OwnValkey
) -> None:
    _make_roles(own_postgres.url)
    stack.start(
        DATABASE_DIRECT_URL=_as_role(own_postgres.url, "aijobs_owner", PASSWORD),
        DATABASE_URL=_as_role(own_postgres.url, "aijobs_app", "CHOOSE-ANOTHER"),
        REDIS_URL=_make_user(own_valkey.url),
    )
    with _client(stack) as client:
        base = client.post("/knowledge-bases", json={"title": "Cells"}).json()["id"]
        point = {"title": "Nucleus", "body": "The nucleus is the part that holds the genome."}
        client.post(f"/knowledge-bases/{base}/points", json={"points": [point]})
        quiz = {"jobType": "quiz_generation", "targetType": "knowledge_base", "targetId": base}
        made = client.post("/jobs", json={**quiz, "questionCount": 1})
        assert made.status_code == 201, made.text
        assert "RateLimit-Remaining" in made.headers
        path = f"/jobs/{made.json()['jobId']}"
        eventually(lambda: client.get(path).json()["lifecycleStatus"] == "succeeded", 60)
    stack.interrupt()
    logs = {path.name: path.read_text() for path in (stack.data / "logs").iterdir()}
    assert len(logs) > 5
    assert {name for name, log in logs.items() if REFUSED.search(log)} == set()


def _client(stack: Stack) -> httpx.Client:
    headers = {"Authorization": f"Bearer {stack.env['AIJOBS_USER_TOKEN']}"}
    url = f"{stack.env['AIJOBS_URL']}/api/ai"
    return httpx.Client(base_url=url, headers=headers, timeout=30, trust_env=False)
