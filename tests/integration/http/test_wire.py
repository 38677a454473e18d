"""What only a real connection can carry: bodies in chunks, broken ones, and ones that never end."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from aijobs.http.embedded.records import Records
from aijobs.http.tokens import issue
from tests.integration.http.api_process import api_process
from tests.world import World, whole_database


@pytest.fixture
def url(here: World, server_folder: Path, run_records: Records) -> Iterator[str]:
    with api_process(here.engine.settings, server_folder, run_records) as made:
        yield made


@pytest.fixture
def token(here: World) -> str:
    return issue(here.engine.settings, here.user_id, "USER", 600)


def _body(here: World) -> bytes:
    target = {"targetType": "knowledge_base", "targetId": str(here.base_id)}
    return json.dumps({"jobType": "quiz_generation", **target}).encode()


def _in_chunks(size: int, text: bytes) -> Iterator[bytes]:
    for start in range(0, len(text), size):
        yield text[start : start + size]


def test_a_body_is_read_to_its_end_and_no_further(here: World, url: str, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    jobs = f"{url}/api/ai/jobs"

    def post(content: bytes | Iterator[bytes]) -> httpx.Response:
        return httpx.post(jobs, content=content, headers=headers, timeout=30, trust_env=False)

    assert post(_in_chunks(7, _body(here))).status_code == 201
    before = whole_database()
    for too_large in (b" " * 2_000_000, _in_chunks(100_000, b" " * 2_000_000)):
        answer = post(too_large)
        assert (answer.status_code, answer.json()["code"]) == (413, "PAYLOAD_TOO_LARGE")
    assert post(b"").json()["code"] == "INVALID_REQUEST"
    assert post(iter(())).json()["code"] == "INVALID_REQUEST"
    for wire in (_GARBLED, _SHORT):
        assert _raw(url, wire, token) == (400, "INVALID_REQUEST")
    assert whole_database() == before


def test_every_answer_of_the_process_has_an_id_and_ours(url: str) -> None:
    with httpx.Client(base_url=url, timeout=30, trust_env=False) as client:
        assert client.get("/healthz").json() == {"status": "ok"}
        assert client.get("/readyz").json() == {"status": "ready", "reasons": []}
        given = client.get("/healthz", headers={"X-Request-Id": "mine-1"})
        assert given.headers["X-Request-Id"] == "mine-1"
        nowhere = client.get("/nowhere", headers={"X-Request-Id": "mine-2"})
        assert nowhere.headers["Content-Type"] == "application/problem+json"
        assert (nowhere.status_code, nowhere.json()["requestId"]) == (404, "mine-2")


#: A chunk whose size is none; a body that ends before its Content-Length.
_GARBLED = b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n{}\r\n0\r\n\r\n"
_SHORT = b'Content-Length: 99\r\n\r\n{"jobType":'


def _raw(url: str, rest: bytes, token: str) -> tuple[int, str]:
    """Status and code of an answer to a request that no client library sends."""
    place = urlsplit(url)
    assert place.hostname is not None
    head = (
        f"POST /api/ai/jobs HTTP/1.1\r\nHost: {place.hostname}\r\nAuthorization: Bearer {token}"
        "\r\nContent-Type: application/json\r\n"
    )
    with socket.create_connection((place.hostname, place.port or 80), timeout=30) as connection:
        connection.sendall(head.encode() + rest)
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as answer:
            status = int(answer.readline().split()[1])
            _, _, body = answer.read().partition(b"\r\n\r\n")
    return status, json.loads(body)["code"]
