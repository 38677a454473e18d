"""A canary key is nowhere but in its sealed row, whatever became of the calls that carried it."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from aijobs.models import database as db
from tests.integration.credentials.canary_child import CANARY
from tests.world import MASTER_KEYS, ROOM_VARIABLES, whole_database

#: Ends of attempts that must show in the log, or the search is for nothing.
CODES = (
    "PROVIDER_BAD_REQUEST",
    "PROVIDER_ACCOUNT",
    "PROVIDER_UNAVAILABLE",
    "PROVIDER_TIMEOUT",
    "CREDENTIAL_INVALID",
    "INTERNAL_ERROR",
    "JOB_TIMEOUT",
)
_READERS = {b"string": "get", b"hash": "hgetall", b"set": "smembers", b"stream": "xrange"}


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_no_key_is_in_a_log_a_row_a_message_an_answer_or_a_metric(
    database_url: str, redis_url: str, tmp_path: Path, log_format: str
) -> None:
    answers = tmp_path / "answers"
    logs = _run(answers, database_url, redis_url, log_format)
    db.connect_to(database_url, connections=1)
    try:
        tables = whole_database()
    finally:
        db.disconnect()
    with redis.Redis.from_url(redis_url) as client:
        values = list(_values(client))
    # What is searched is really there.
    assert [code for code in CODES if code not in logs] == []
    assert "[hidden]" in logs
    assert "stage_failed" in logs
    assert "request_failed" in logs
    assert len(tables["ai_usage_log"]) >= 20
    assert len(tables["user_model_credential"]) == 3
    assert any("quiz_generation" in line for line in tables["ai_job"])
    assert any("prepare" in value for value in values)
    assert answers.read_text().count('"last4"') >= 4
    for told in ("aijobs_calls_total{", "aijobs_circuit_changes_total{", "circuit.open"):
        assert told in answers.read_text()
    places = {"log": logs, "answers": answers.read_text(), "redis": "\n".join(values)}
    places |= {name: "\n".join(lines) for name, lines in tables.items()}
    assert {name: _found_in(text) for name, text in places.items() if _found_in(text)} == {}


@pytest.mark.parametrize("form", range(6))
def test_a_key_in_any_form_would_be_found(form: int) -> None:
    assert _found_in(f"before {_forms()[form]} after")


def _found_in(text: str) -> list[str]:
    """Lines that hold the canary, as it is, in hexadecimal, or inside something in base64."""
    forms = _forms()
    return [line for line in text.splitlines() if any(form in line for form in forms)]


def _forms() -> list[str]:
    raw = CANARY.encode()
    shifted = (base64.b64encode(b"x" * shift + raw + b"x" * 3).decode() for shift in range(3))
    inner = [text[4:16] for text in shifted]
    return [CANARY, CANARY.lower(), raw.hex(), *inner]


def _run(answers: Path, database_url: str, redis_url: str, log_format: str) -> str:
    environ = {name: value for name, value in os.environ.items() if "AIJOBS" not in name} | {
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "AIJOBS_MASTER_KEYS": MASTER_KEYS,
        "AIJOBS_LOG_FORMAT": log_format,
        **ROOM_VARIABLES,
    }
    command = [sys.executable, "-m", "tests.integration.credentials.canary_child", str(answers)]
    done = subprocess.run(
        command,
        env=environ,
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout + done.stderr


def _values(client: redis.Redis) -> Iterator[str]:
    """Every key of Redis with all that it holds."""
    for key in client.scan_iter():
        kind: Any = client.type(key)
        if kind == b"list":
            held: Any = client.lrange(key, 0, -1)
        elif kind == b"zset":
            held = client.zrange(key, 0, -1)
        else:
            held = getattr(client, _READERS[kind])(key)
        yield f"{key!r} {held!r}"
