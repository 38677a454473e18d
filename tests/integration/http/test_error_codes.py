"""Every error code of users (api.md) from the running server: status, body, both languages, and
nothing stored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp
from uuid import uuid4

import httpx
import pytest

from aijobs.engine.engine import build_engine
from aijobs.http.embedded.records import Records
from aijobs.models import migrate
from tests.databases import Databases
from tests.integration.engine.seen import forget_circuits, rows
from tests.integration.http.api_process import api_process
from tests.integration.http.languages import check_both
from tests.integration.http.refused import (
    CASES,
    PER_MINUTE,
    PREFIX,
    Asker,
    Request,
    add_material,
)
from tests.servers import OwnPostgres
from tests.world import World, settings_for, whole_database, world

MEDIA_TYPE = "application/problem+json"
#: The contract's list: code -> status. Those of 429 and 503 may be tried again.
STATUSES = {
    "INVALID_REQUEST": 400,
    "AI_ANALYSIS_DISABLED": 400,
    "INVALID_JOB_TYPE": 400,
    "INVALID_TARGET_TYPE": 400,
    "CREDENTIAL_REQUIRED": 400,
    "DAILY_JOB_LIMIT_EXCEEDED": 400,
    "DAILY_TOKEN_BUDGET_EXCEEDED": 400,
    "PLATFORM_TOKEN_BUDGET_EXCEEDED": 400,
    "PLATFORM_COST_BUDGET_EXCEEDED": 400,
    "UNAUTHENTICATED": 401,
    "FORBIDDEN": 403,
    "JOB_NOT_FOUND": 404,
    "TARGET_NOT_FOUND": 404,
    "CREDENTIAL_NOT_FOUND": 404,
    "NOT_FOUND": 404,
    "JOB_NOT_CANCELLABLE": 409,
    "JOB_ALREADY_CANCELLED": 409,
    "JOB_NOT_FINISHED": 409,
    "IDEMPOTENCY_KEY_REUSED": 409,
    "PAYLOAD_TOO_LARGE": 413,
    "TOO_MANY_JOBS": 429,
    "QUOTA_EXCEEDED": 429,
    "RATE_LIMITED": 429,
    "PLATFORM_CIRCUIT_OPEN": 503,
    "PLATFORM_CIRCUIT_HALF_OPEN": 503,
    "PLATFORM_UNAVAILABLE": 503,
}
#: Of no operation: what is not there.
UNDOCUMENTED = {"NOT_FOUND"}
WITH_RETRY_AFTER = {
    *("TOO_MANY_JOBS", "QUOTA_EXCEEDED", "RATE_LIMITED"),
    *("PLATFORM_CIRCUIT_OPEN", "PLATFORM_CIRCUIT_HALF_OPEN"),
}


@pytest.fixture(scope="module")
def running(
    databases: Databases, valkey_url: str, run_directory: Path, run_records: Records
) -> Iterator[tuple[World, str]]:
    """A world, and one API on its database for all cases, with a provider that costs something."""
    database_url = databases.take()
    settings = settings_for(database_url, valkey_url)
    folder = Path(mkdtemp(prefix="codes-", dir=run_directory))
    environ = {
        "AIJOBS_USER_REQUESTS_PER_MINUTE": str(PER_MINUTE),
        "AIJOBS_PROVIDER": "openai",
        "AIJOBS_PROVIDER_API_KEY": "sk-of-the-tests",
    }
    with world(settings) as here, api_process(settings, folder, run_records, **environ) as url:
        yield here, url
    databases.give_back(database_url)


@pytest.fixture
def who(running: tuple[World, str]) -> Iterator[Asker]:
    """A new user for each case."""
    here, url = running
    fresh = World(here.other_process().engine, uuid4(), uuid4())
    add_material(fresh)
    yield Asker(fresh, url)
    forget_circuits()
    rows("DELETE FROM ai_job")
    rows("DELETE FROM platform_usage_daily")


def test_every_code_of_the_contract_has_a_case() -> None:
    assert set(CASES) == set(STATUSES)


@pytest.mark.parametrize("code", STATUSES)
def test_a_refusal_has_its_code_in_both_languages_and_stores_nothing(who: Asker, code: str) -> None:
    request = CASES[code](who)
    before = whole_database()
    english = who.ask(request.method, request.path, **request.more)
    chinese = who.ask(request.method, request.path, "zh-CN", **request.more)
    assert whole_database() == before
    for answer in (english, chinese):
        _check(answer, code)
    check_both(english.json(), chinese.json())
    assert english.json()["requestId"] != chinese.json()["requestId"]
    if code not in UNDOCUMENTED:
        assert code in _documented(who, request, english.status_code)


def test_without_a_route_or_key_the_platform_is_not_available(
    running: tuple[World, str], who: Asker, server_folder: Path, run_records: Records
) -> None:
    """The one route is of a tier that no job type asks for."""
    route = {"tier": "large", "provider": "p", "model": "m", "baseUrl": "http://127.0.0.1:9/v1"}
    environ = {
        "AIJOBS_PROVIDER": "openai",
        "AIJOBS_ROUTES": json.dumps([{**route, "apiKeyVariable": "KEY_OF_LARGE"}]),
        "KEY_OF_LARGE": "sk-of-the-tests",
    }
    settings = who.here.engine.settings
    with api_process(settings, server_folder, run_records, **environ) as url:
        before = whole_database()
        answer = Asker(who.here, url).ask("POST", f"{PREFIX}/jobs", json=who.job())
        assert whole_database() == before
    _check(answer, "PLATFORM_UNAVAILABLE")


def test_without_a_database_the_platform_is_not_available(
    own_postgres: OwnPostgres, redis_url: str, server_folder: Path, run_records: Records
) -> None:
    migrate.run(own_postgres.url)
    settings = settings_for(own_postgres.url, redis_url)
    user = World(build_engine(settings), uuid4(), uuid4())
    with api_process(settings, server_folder, run_records) as url:
        own_postgres.stop("fast")
        answer = Asker(user, url).ask("POST", f"{PREFIX}/jobs", json=Asker(user, url).job())
        _check(answer, "PLATFORM_UNAVAILABLE")
        assert int(answer.headers["Retry-After"]) >= 1
        own_postgres.start()
    with world(settings):
        assert rows("SELECT 1 FROM ai_job") == []


def _check(answer: httpx.Response, code: str) -> None:
    status = STATUSES[code]
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == MEDIA_TYPE
    body = answer.json()
    assert (body["code"], body["status"]) == (code, status)
    assert body["retryable"] is (status in (429, 503))
    assert body["type"] and body["detail"]
    assert body["requestId"] == answer.headers["X-Request-Id"]
    if code in WITH_RETRY_AFTER:
        assert int(answer.headers["Retry-After"]) >= 1


def _documented(who: Asker, request: Request, status: int) -> list[str]:
    """The codes that the API's own document tells of for this answer."""
    paths = who.ask("GET", "/openapi.json").json()["paths"]
    path = re.sub(r"[0-9a-f-]{36}", "{jobId}", request.path)
    told = paths[path][request.method.lower()]["responses"][str(status)]
    codes: list[str] = told["content"][MEDIA_TYPE]["schema"]["allOf"][1]["properties"]["code"][
        "enum"
    ]
    return codes
