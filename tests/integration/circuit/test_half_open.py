"""Half open: so many probes and no more, whoever claims, and so many new jobs and no more."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from aijobs.engine import stages
from aijobs.http.embedded.records import Records
from aijobs.http.tokens import issue
from aijobs.models.lifecycle import claim
from aijobs.models.tables import AiJob
from tests.integration.circuit.scene import PROBES, passed, time_passes
from tests.integration.engine.seen import rows
from tests.integration.http.api_process import api_process
from tests.integration.http.refused import add_material
from tests.integration.models.rivals import race
from tests.integration.models.states import created, expire_now
from tests.world import ROOM, World, settings_for, world

AT_ONCE = 20
CREATES = 200
QUEUES = ("ai-interactive", "ai-background")
#: The embedded provider's route.
ROUTE = ("offline", "offline-rules-1")


@pytest.fixture
def here(database_url: str, redis_url: str) -> Iterator[World]:
    with world(settings_for(database_url, redis_url), connections=AT_ONCE + 5) as made:
        yield made


def _opens(cause: str) -> None:
    """A call's fault opens the offline route's circuit."""
    rows(
        "SELECT circuit_record(%(p)s, %(m)s, 0, 'fault', %(cause)s, 'test', 10, 60)",
        p=ROUTE[0],
        m=ROUTE[1],
        cause=cause,
    )
    [row] = rows("SELECT state FROM platform_circuit")
    assert row["state"] == "open"


def _half_opens(here: World, cause: str) -> None:
    _opens(cause)
    time_passes()
    passed(here)
    [row] = rows("SELECT state FROM platform_circuit")
    assert row["state"] == "half_open"


def _claims_at_once(here: World) -> list[AiJob]:
    """What as many processes as can claim at the same moment, from two queues. (Within a process
    claims come one after the other.)"""
    engines = [here.other_process().engine for _ in range(AT_ONCE)]
    works = [
        partial(
            claim,
            QUEUES[number % 2],
            known=engine.registry.known(),
            routes=engine.circuit_routes(),
            holder=engine.holder,
            lease_seconds=60,
        )
        for number, engine in enumerate(engines)
    ]
    return [job for job in race(works) if job is not None]


def _leased() -> int:
    [row] = rows("SELECT count(*) AS n FROM ai_job WHERE lifecycle_status = 'running'")
    return int(row["n"])


@pytest.mark.parametrize(
    ("cause", "probes"),
    [("PROVIDER_UNAVAILABLE", PROBES), ("PROVIDER_ACCOUNT", 1), ("CREDENTIAL_INVALID", 1)],
)
def test_of_twenty_claims_at_once_as_many_as_may_probe_get_a_job(
    here: World, cause: str, probes: int
) -> None:
    for number in range(2 * AT_ONCE):
        created(here, queue_name=QUEUES[number % 2])
    _half_opens(here, cause)
    for _ in range(2):
        claimed = _claims_at_once(here)
        assert (len(claimed), _leased()) == (probes, probes)
        assert _claims_at_once(here) == []
        for job in claimed:
            expire_now(here, job.id)
        assert _leased() == 0


def test_probes_are_counted_from_live_leases(here: World) -> None:
    """A dead probe's place is free as soon as its lease has lapsed, before it is reaped."""
    for _ in range(2 * PROBES):
        created(here)
    _half_opens(here, "PROVIDER_UNAVAILABLE")
    first = _claims_at_once(here)
    here.lapse(first[0].id)
    assert len(_claims_at_once(here)) == 1


def test_who_was_claimed_before_it_opened_is_no_probe(here: World) -> None:
    """Leases of an earlier epoch do not take the place of a probe."""
    for _ in range(2 * AT_ONCE):
        created(here)
    before = [here.claim() for _ in range(5)]
    _half_opens(here, "PROVIDER_UNAVAILABLE")
    assert len(_claims_at_once(here)) == PROBES
    assert _leased() == len(before) + PROBES


def test_a_permit_that_finds_no_free_probe_moves_nothing(here: World) -> None:
    jobs = [created(here) for _ in range(3)]
    _half_opens(here, "PROVIDER_ACCOUNT")
    probe = here.claim()
    assert stages.prepare(here.engine, "ai-interactive") is None
    for job in jobs:
        if job.id != probe.job.id:
            now = here.job(job.id)
            assert (now.lifecycle_status, now.attempt_no) == ("queued", 0)
            assert now.available_at == job.available_at


def test_an_open_circuit_keeps_every_claim_out(here: World) -> None:
    for _ in range(3):
        created(here)
    _opens("PROVIDER_UNAVAILABLE")
    assert _claims_at_once(here) == []


@pytest.fixture
def url(here: World, server_folder: Path, run_records: Records) -> Iterator[str]:
    with api_process(here.engine.settings, server_folder, run_records) as made:
        yield f"{made}/api/ai/jobs"


def _post_at_once(url: str, asked: Sequence[tuple[World, dict[str, Any]]]) -> list[httpx.Response]:
    """Each user's request, all at the same moment."""

    async def all_of_them() -> list[httpx.Response]:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(limits=limits, timeout=120, trust_env=False) as client:
            return await asyncio.gather(
                *(client.post(url, json=body, headers=_bearer(who)) for who, body in asked)
            )

    return asyncio.run(all_of_them())


def _bearer(who: World) -> dict[str, str]:
    token = issue(who.engine.settings, who.user_id, "USER", 600)
    return {"Authorization": f"Bearer {token}"}


def _users(here: World, count: int) -> list[World]:
    """Others: what one user asks for at once, their own settings' lock puts in a row."""
    made = [replace(here, user_id=uuid4(), base_id=uuid4()) for _ in range(count)]
    for who in made:
        add_material(who)
    return made


def _body(here: World, **more: Any) -> dict[str, Any]:
    target = {"targetType": "knowledge_base", "targetId": str(here.base_id)}
    return {"jobType": "quiz_generation", **target, **more}


def test_of_two_hundred_creates_at_once_two_are_let_in(here: World, url: str) -> None:
    _half_opens(here, "PROVIDER_UNAVAILABLE")
    assert ROOM["user_requests_per_minute"] > CREATES
    answers = _post_at_once(url, [(who, _body(who)) for who in _users(here, CREATES)])
    told = Counter(
        (answer.status_code, answer.json().get("code"), answer.json().get("retryable"))
        for answer in answers
    )
    assert told == {
        (201, None, None): PROBES,
        (503, "PLATFORM_CIRCUIT_HALF_OPEN", True): CREATES - PROBES,
    }
    for table in ("ai_job", "ai_job_snapshot", "ai_job_reservation", "outbox_event"):
        assert rows(f"SELECT count(*) AS n FROM {table}") == [{"n": PROBES}], table
    assert rows("SELECT sum(jobs) AS n FROM user_ai_usage_daily") == [{"n": PROBES}]


def test_a_fault_of_the_account_lets_one_in(here: World, url: str) -> None:
    _half_opens(here, "PROVIDER_ACCOUNT")
    answers = _post_at_once(url, [(who, _body(who)) for who in _users(here, AT_ONCE)])
    assert Counter(answer.status_code for answer in answers) == {201: 1, 503: AT_ONCE - 1}


@pytest.mark.parametrize(
    "put_off",
    [
        "UPDATE ai_job SET available_at = now() + interval '5 hours'",
        "INSERT INTO queue_control (queue_name, paused_at, paused_by) "
        "VALUES ('ai-interactive', now(), 'test')",
        "UPDATE ai_job SET lifecycle_status = 'running', attempt_no = 1, locked_by = 'of before', "
        "locked_at = now(), started_at = now(), lock_until = now() + interval '60 s'",
        "WITH parent AS (SELECT id FROM ai_job WHERE queue_name = 'ai-background') "
        "INSERT INTO ai_job_dependency SELECT job.id, parent.id FROM ai_job job, parent "
        "WHERE job.queue_name = 'ai-interactive'",
    ],
    ids=["a due time", "a paused queue", "an attempt of before", "others"],
)
def test_who_cannot_probe_now_keeps_nobody_out(here: World, url: str, put_off: str) -> None:
    """Two jobs that wait for midnight would keep everybody out until then."""
    for _ in range(PROBES):
        created(here)
    if "dependency" in put_off:
        created(here, queue_name="ai-background", credential_mode="user_key")
    rows(put_off)
    _half_opens(here, "PROVIDER_UNAVAILABLE")
    answers = _post_at_once(url, [(who, _body(who)) for who in _users(here, AT_ONCE)])
    told = Counter(answer.status_code for answer in answers)
    assert told == ({201: AT_ONCE} if "queue_control" in put_off else {201: 2, 503: AT_ONCE - 2})


def test_open_lets_nobody_in_and_says_when_to_come_again(here: World, url: str) -> None:
    known = _body(here, idempotencyKey="of before")
    [first] = _post_at_once(url, [(here, known)])
    _opens("PROVIDER_ACCOUNT")
    refused = _post_at_once(url, [(here, _body(here))] * AT_ONCE)
    for answer in refused:
        assert (answer.status_code, answer.json()["code"]) == (503, "PLATFORM_CIRCUIT_OPEN")
        assert 1 <= int(answer.headers["Retry-After"]) <= 60
    [again] = _post_at_once(url, [(here, known)])
    assert (again.status_code, again.json()["jobId"]) == (200, first.json()["jobId"])
    assert rows("SELECT count(*) AS n FROM ai_job") == [{"n": 1}]


def test_a_users_own_limits_come_before_the_platforms_circuit(here: World, url: str) -> None:
    """Step 9 before step 10, and the circuit before the platform's budgets."""
    _opens("PROVIDER_ACCOUNT")
    rows(
        "INSERT INTO platform_usage_daily (utc_date, tokens_used) "
        "VALUES ((now() AT TIME ZONE 'UTC')::date, %(n)s)",
        n=here.engine.settings.platform_daily_tokens,
    )
    [answer] = _post_at_once(url, [(here, _body(here))])
    assert answer.json()["code"] == "PLATFORM_CIRCUIT_OPEN"
    rows(
        "INSERT INTO user_ai_settings (user_id, max_daily_ai_jobs) VALUES (%(id)s, 0)",
        id=here.user_id,
    )
    [answer] = _post_at_once(url, [(here, _body(here))])
    assert answer.json()["code"] == "DAILY_JOB_LIMIT_EXCEEDED"
