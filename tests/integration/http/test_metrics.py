"""/metrics of a running API: changes of circuits, what is lost, what is away, and no secret."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import falcon.testing
import httpx
import pytest
import redis
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as read_openmetrics,
)

from aijobs.actors.reaper import Reaper
from aijobs.engine.gateway import OpenAIProvider
from aijobs.http.app import create_app
from aijobs.http.embedded.records import Records
from aijobs.http.tokens import issue
from aijobs.models import migrate
from aijobs.models.lifecycle import request_cancel
from tests.eventually import eventually
from tests.integration.circuit.scene import FAILURES_TO_OPEN, PROVIDER, called, passed, time_passes
from tests.integration.credentials.detour import KEY, Detour, add_key, detoured
from tests.integration.engine.seen import rows
from tests.integration.engine.wire import MODEL, over_the_wire, route_to
from tests.integration.http.api_process import api_process
from tests.integration.http.caller import Caller, caller
from tests.scrape import Scrape, scrape
from tests.scripted_provider import ScriptedProvider
from tests.servers import OwnPostgres, OwnValkey
from tests.world import World, settings_for

ROUTE = {"provider": PROVIDER, "model": MODEL}
STATES = ("closed", "open", "half_open")
DOCUMENT = Path(__file__).parents[3] / "docs" / "operations.md"
#: Every label there is, and so every place where something could be told.
LABELS = {
    *("provider", "model", "state", "queue", "status", "kind", "pass", "result", "outcome"),
    *("direction", "job_type", "error_code", "method", "route", "le"),
}


@pytest.fixture
def gateway() -> Iterator[OpenAIProvider]:
    made = OpenAIProvider(5.0)
    yield made
    made.close()


@pytest.fixture
def server() -> Iterator[ScriptedProvider]:
    with ScriptedProvider() as scripted:
        yield scripted


@pytest.fixture
def wired(here: World, gateway: OpenAIProvider, server: ScriptedProvider) -> World:
    """A world whose jobs call a scripted provider."""
    return over_the_wire(here, gateway, route_to(server))


@pytest.fixture
def url(here: World, server_folder: Path, run_records: Records) -> Iterator[str]:
    """A running API on the world's database, which knows the scripted route."""
    routes = [{**ROUTE, "baseUrl": "http://127.0.0.1:1", "apiKeyVariable": "ROUTE_KEY"}]
    environ = {"AIJOBS_ROUTES": json.dumps(routes), "ROUTE_KEY": "sk-of-the-tests"}
    with api_process(here.engine.settings, server_folder, run_records, **environ) as made:
        yield made


def _circuit(url: str) -> tuple[float | None, list[str], float | None]:
    """Changes, the states that are 1, and the failures in a row."""
    told = scrape(url)
    lit = [word for word in STATES if told.value("aijobs_circuit_state", state=word, **ROUTE)]
    changes = told.value("aijobs_circuit_changes_total", **ROUTE)
    return changes, lit, told.value("aijobs_circuit_consecutive_failures", **ROUTE)


def test_every_change_of_a_circuit_is_counted_once(
    url: str, wired: World, server: ScriptedProvider
) -> None:
    assert _circuit(url) == (0, ["closed"], 0)
    called(wired, server, "503", times=FAILURES_TO_OPEN - 1)
    assert _circuit(url) == (0, ["closed"], FAILURES_TO_OPEN - 1)
    called(wired, server, "503")
    assert _circuit(url) == (1, ["open"], FAILURES_TO_OPEN)
    time_passes()
    passed(wired)
    assert _circuit(url)[:2] == (2, ["half_open"])
    called(wired, server, "503")
    assert _circuit(url)[:2] == (3, ["open"])
    time_passes()
    passed(wired)
    assert _circuit(url)[:2] == (4, ["half_open"])
    called(wired, server, "ok")
    assert _circuit(url) == (5, ["closed"], 0)
    called(wired, server, "402")
    assert _circuit(url)[:2] == (6, ["open"])
    assert len(rows("SELECT FROM admin_audit")) == 6


def test_a_lease_that_two_sweeps_have_missed_is_told_until_the_reaper_comes(
    url: str, here: World
) -> None:
    """A grace of 30 s and two sweeps, 30 s apart: at 85 s nothing is wrong yet."""
    here.create()
    attempt = here.claim()
    here.engine.attempts.remove(attempt)
    here.lapse(attempt.job.id, 60 + 85)
    told = scrape(url)
    assert told.value("aijobs_jobs_lapsed") == 0
    assert told.value("aijobs_jobs", queue="ai-interactive", status="running") == 1
    here.lapse(attempt.job.id, 10)
    assert scrape(url).value("aijobs_jobs_lapsed") == 1
    Reaper(here.engine).run_once(None)
    told = scrape(url)
    assert told.value("aijobs_jobs_lapsed") == 0
    assert told.value("aijobs_jobs", queue="ai-interactive", status="queued") == 1


def test_jobs_events_and_money_are_told_as_they_are(url: str, here: World) -> None:
    here.create()
    here.create("flashcard_generation")
    attempt = here.claim()
    request_cancel(attempt.job.id, reason="user")
    told = scrape(url)
    counts = {
        (sample.labels["queue"], sample.labels["status"]): sample.value
        for sample in told.samples("aijobs_jobs")
        if sample.value
    }
    assert counts == {("ai-interactive", "running"): 1, ("ai-interactive", "queued"): 1}
    assert told.value("aijobs_jobs_cancel_requested") == 1
    assert told.value("aijobs_outbox_events", status="pending") == 2
    [day] = rows("SELECT tokens_reserved, cost_reserved FROM platform_usage_daily")
    assert day["tokens_reserved"] > 0
    assert told.value("aijobs_platform_tokens", kind="reserved") == day["tokens_reserved"]
    assert told.value("aijobs_platform_tokens", kind="limit") == 10**12
    assert told.value("aijobs_platform_cost_usd", kind="limit") == 500


def test_the_answer_is_what_prometheus_reads(url: str, here: World) -> None:
    here.finish(here.create())
    scrape(url)
    told = scrape(url)
    names = [family.name for family in told.families]
    assert len(names) == len(set(names)) > 15
    for family in told.families:
        assert family.name.startswith("aijobs_")
        assert family.documentation and family.type in ("gauge", "counter", "histogram")
        assert all(set(sample.labels) <= LABELS for sample in family.samples)
    accept = {"Accept": "application/openmetrics-text; version=1.0.0, text/plain;q=0.5"}
    answer = httpx.get(f"{url}/metrics", headers=accept, trust_env=False)
    assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
    assert {family.name for family in read_openmetrics(answer.text)} == set(names)


def test_requests_are_counted_by_what_answers_them(url: str, here: World) -> None:
    token = issue(here.engine.settings, here.user_id, "USER", 600)
    base, job = f"{url}/api/ai", here.create()
    with httpx.Client(
        headers={"Authorization": f"Bearer {token}"}, trust_env=False, timeout=30
    ) as client:
        for _ in range(3):
            assert client.get(f"{base}/jobs/{job.id}").status_code == 200
        client.get(f"{base}/jobs/{job.id}?wait=0")
        client.get(f"{base}/jobs/{uuid4()}")
        client.get(f"{base}/no-such-thing/{job.id}")
        client.get(f"{base}/jobs", headers={"Authorization": "Bearer x"})
        client.delete(f"{base}/jobs/{job.id}")
        client.request("PROPFIND", f"{url}/healthz")
    told = scrape(url)
    counts = {
        tuple(sample.labels[name] for name in ("method", "route", "status")): sample.value
        for sample in told.samples("aijobs_http_requests_total")
    }
    one = "/api/ai/jobs/{job_id:uuid}"
    assert counts["GET", one, "200"] == 4
    assert counts["GET", one, "404"] == 1
    assert counts["DELETE", one, "405"] == 1
    assert counts["GET", "unknown", "404"] == 1
    assert counts["GET", "unknown", "401"] == 1
    assert {method for method, _, _ in counts} <= {"GET", "DELETE", "other"}
    assert str(job.id) not in told.text
    assert told.value("aijobs_http_request_seconds_count", route=one) == 5


def test_every_metric_is_documented_and_no_other(url: str) -> None:
    documented = re.findall(r"`(aijobs_\w+)`", DOCUMENT.read_text(encoding="utf-8"))
    told = [
        f"{family.name}_total" if family.type == "counter" else family.name
        for family in scrape(url).families
    ]
    assert sorted(documented) == sorted(told)


@pytest.mark.parametrize("knob", ["ok", "401", "402", "503"])
def test_nothing_of_a_user_is_in_a_label(
    here: World,
    redis_url: str,
    gateway: OpenAIProvider,
    server: ScriptedProvider,
    knob: str,
) -> None:
    """Provider and model of an own key are the user's own words too."""
    wired = detoured(here, Detour(gateway, server))
    with redis.Redis.from_url(redis_url) as client:
        me = caller(wired, wired.user_id, client)
        credential_id = add_key(me, provider="canary-provider", baseUrl="https://api.deepseek.com")
        job = _own_job(me, wired)
        server.script(knob)
        wired.run(wired.claim())
        told = Scrape(me.client.simulate_get("/metrics").text)
    outcomes = {
        "ok": "ok",
        "401": "CREDENTIAL_INVALID",
        "402": "PROVIDER_ACCOUNT",
        "503": "PROVIDER_UNAVAILABLE",
    }
    own = {"provider": "own_key", "model": ""}
    assert told.value("aijobs_calls_total", outcome=outcomes[knob], **own) == 1
    assert told.value("aijobs_calls_total") == 1
    secrets = (KEY, "canary", "deepseek", credential_id, job, wired.user_id, wired.base_id)
    assert [secret for secret in map(str, secrets) if secret in told.text] == []


def _own_job(me: Caller, wired: World) -> Any:
    target = {"targetType": "knowledge_base", "targetId": str(wired.base_id)}
    answer = me.post("/jobs", {"jobType": "quiz_generation", "apiKeyMode": "user_key", **target})
    assert answer.status_code == 201, answer.text
    return answer.json["jobId"]


def test_calls_are_counted_by_their_end_in_the_books_and_retries_by_their_fault(
    wired: World, server: ScriptedProvider, redis_url: str
) -> None:
    called(wired, server, "ok", text="not a word of JSON")
    called(wired, server, "ok")
    called(wired, server, "503")
    with redis.Redis.from_url(redis_url) as client:
        app = falcon.testing.TestClient(create_app(wired.engine, client))
        told = Scrape(app.simulate_get("/metrics").text)
    booked = rows(
        "SELECT coalesce(error_code, 'ok') AS outcome, count(*) AS n FROM ai_usage_log GROUP BY 1"
    )
    counted = {
        sample.labels["outcome"]: sample.value for sample in told.samples("aijobs_calls_total")
    }
    assert counted == {row["outcome"]: row["n"] for row in booked}
    assert len(counted) == 3
    retries = told.value("aijobs_job_retries_total", error_code="PROVIDER_UNAVAILABLE")
    assert retries == told.value("aijobs_job_retries_total") == 1


def test_without_a_database_the_rest_is_told(
    own_postgres: OwnPostgres, redis_url: str, server_folder: Path, run_records: Records
) -> None:
    migrate.run(own_postgres.url)
    settings = settings_for(own_postgres.url, redis_url)
    with api_process(settings, server_folder, run_records) as url:
        told = scrape(url)
        assert told.value("aijobs_database_up") == 1
        own_postgres.stop()
        told = scrape(url)
        assert told.value("aijobs_database_up") == 0
        assert told.value("aijobs_jobs_lapsed") is None
        assert told.value("aijobs_http_requests_total", route="/metrics", status="200") == 1
        assert "Traceback" not in told.text
        own_postgres.start()
        eventually(lambda: scrape(url).value("aijobs_database_up") == 1, 30)


def test_a_database_without_tables_tells_nothing(
    empty_database_url: str, redis_url: str, server_folder: Path, run_records: Records
) -> None:
    settings = settings_for(empty_database_url, redis_url)
    with api_process(settings, server_folder, run_records) as url:
        assert scrape(url).value("aijobs_database_up") == 0
        migrate.run(empty_database_url)
        assert scrape(url).value("aijobs_database_up") == 1


def test_what_passes_uncounted_without_redis_is_counted(
    here: World, own_valkey: OwnValkey, server_folder: Path, run_records: Records
) -> None:
    settings = settings_for(here.engine.settings.database_url, own_valkey.url)
    headers = {"Authorization": f"Bearer {issue(settings, here.user_id, 'USER', 600)}"}
    with api_process(settings, server_folder, run_records) as url:

        def ask() -> int:
            jobs = f"{url}/api/ai/jobs"
            return httpx.get(jobs, headers=headers, timeout=30, trust_env=False).status_code

        assert [ask(), ask()] == [200, 200]
        assert scrape(url).value("aijobs_http_requests_uncounted_total") == 0
        own_valkey.stop()
        assert [ask() for _ in range(3)] == [200] * 3
        assert scrape(url).value("aijobs_http_requests_uncounted_total") == 3


def test_a_directory_that_cannot_be_used_is_told_in_one_line(
    here: World, server_folder: Path, run_records: Records
) -> None:
    taken = server_folder / "file"
    taken.touch()
    given = {"AIJOBS_METRICS_DIR": str(taken / "metrics")}
    with (
        pytest.raises(RuntimeError, match="aijobs: AIJOBS_METRICS_DIR cannot be used: "),
        api_process(here.engine.settings, server_folder, run_records, **given),
    ):
        pass
