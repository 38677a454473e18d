"""A case of every error code of users: what to prepare, and what is refused then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import httpx

from aijobs.http.tokens import issue
from aijobs.models import learner
from aijobs.models.learner import NewPoint
from aijobs.models.lifecycle import cancel, succeed
from tests.integration.engine.seen import rows
from tests.integration.models.states import claimed
from tests.world import POINTS, World

PREFIX = "/api/ai"
#: Requests a minute of a user, at the API that is asked.
PER_MINUTE = 20


@dataclass(frozen=True)
class Asker:
    """A user with a knowledge base at the running API."""

    here: World
    url: str

    def ask(self, method: str, path: str, language: str = "en", **more: Any) -> httpx.Response:

        token = issue(self.here.engine.settings, self.here.user_id, "USER", 600)
        headers = {"Authorization": f"Bearer {token}", "Accept-Language": language}
        given = {"timeout": 60, "trust_env": False, **more}
        given["headers"] = headers | more.get("headers", {})
        return httpx.request(method, f"{self.url}{path}", **given)

    def job(self, **more: Any) -> dict[str, Any]:
        """The body of a sound POST /jobs, changed."""
        target = {"targetType": "knowledge_base", "targetId": str(self.here.base_id)}
        return {"jobType": "quiz_generation", **target, **more}

    def limited(self, column: str, limit: int) -> None:
        """A limit of this user's own."""
        rows(
            f"INSERT INTO user_ai_settings (user_id, {column}) VALUES (%(id)s, %(limit)s)",
            id=self.here.user_id,
            limit=limit,
        )


@dataclass(frozen=True)
class Request:
    """What is asked when all is prepared."""

    method: str
    path: str
    more: dict[str, Any] = field(default_factory=dict)


Case = Callable[[Asker], Request]
CASES: dict[str, Case] = {}


def case(code: str) -> Callable[[Case], Case]:
    """The case of a code: it prepares, and says what is refused then."""

    def add(made: Case) -> Case:
        assert code not in CASES
        CASES[code] = made
        return made

    return add


def _create(who: Asker, **more: Any) -> Request:
    return Request("POST", f"{PREFIX}/jobs", {"json": who.job(**more)})


def _cancel(job_id: UUID) -> Request:
    return Request("POST", f"{PREFIX}/jobs/{job_id}/cancel")


@case("INVALID_REQUEST")
def _(who: Asker) -> Request:
    return _create(who, questionCount=51)


@case("AI_ANALYSIS_DISABLED")
def _(who: Asker) -> Request:
    off = who.ask("PUT", f"{PREFIX}/settings", json={"aiEnabled": False})
    assert off.status_code == 200, off.text
    return _create(who)


@case("INVALID_JOB_TYPE")
def _(who: Asker) -> Request:
    return _create(who, jobType="horoscope")


@case("INVALID_TARGET_TYPE")
def _(who: Asker) -> Request:
    return _create(who, targetType="knowledge_point")


@case("CREDENTIAL_REQUIRED")
def _(who: Asker) -> Request:
    return _create(who, apiKeyMode="user_key")


@case("DAILY_JOB_LIMIT_EXCEEDED")
def _(who: Asker) -> Request:
    who.limited("max_daily_ai_jobs", 1)
    who.here.create()
    return _create(who)


@case("DAILY_TOKEN_BUDGET_EXCEEDED")
def _(who: Asker) -> Request:
    who.limited("max_daily_token_budget", 100)
    return _create(who)


def _platform_has(column: str, spent: int) -> None:
    today = "(now() AT TIME ZONE 'UTC')::date"
    rows(
        f"INSERT INTO platform_usage_daily (utc_date, {column}) VALUES ({today}, %(spent)s)",
        spent=spent,
    )


@case("PLATFORM_TOKEN_BUDGET_EXCEEDED")
def _(who: Asker) -> Request:
    _platform_has("tokens_used", who.here.engine.settings.platform_daily_tokens)
    return _create(who)


@case("PLATFORM_COST_BUDGET_EXCEEDED")
def _(who: Asker) -> Request:
    _platform_has("cost_used", 500_000_000)
    return _create(who)


@case("UNAUTHENTICATED")
def _(who: Asker) -> Request:
    more = {"headers": {"Authorization": "Bearer of-nobody"}, "json": who.job()}
    return Request("POST", f"{PREFIX}/jobs", more)


@case("FORBIDDEN")
def _(who: Asker) -> Request:
    return Request("GET", "/admin-api/ai/circuit")


@case("JOB_NOT_FOUND")
def _(who: Asker) -> Request:
    stranger = World(who.here.engine, uuid4(), uuid4())
    add_material(stranger)
    return Request("GET", f"{PREFIX}/jobs/{stranger.create().id}")


@case("TARGET_NOT_FOUND")
def _(who: Asker) -> Request:
    return _create(who, targetId=str(uuid4()))


@case("CREDENTIAL_NOT_FOUND")
def _(who: Asker) -> Request:
    return _create(who, apiKeyMode="user_key", credentialId=str(uuid4()))


@case("NOT_FOUND")
def _(who: Asker) -> Request:
    return Request("GET", f"{PREFIX}/nowhere")


@case("JOB_NOT_CANCELLABLE")
def _(who: Asker) -> Request:
    job = who.here.create()
    lease = claimed(who.here)
    assert lease is not None and lease.job_id == job.id
    succeed(lease, output_hash="0" * 64)
    return _cancel(job.id)


@case("JOB_ALREADY_CANCELLED")
def _(who: Asker) -> Request:
    job = who.here.create()
    cancel(job.id, reason="test", actor="test")
    return _cancel(job.id)


@case("JOB_NOT_FINISHED")
def _(who: Asker) -> Request:
    return Request("GET", f"{PREFIX}/jobs/{who.here.create().id}/result")


@case("IDEMPOTENCY_KEY_REUSED")
def _(who: Asker) -> Request:
    who.here.create(idempotencyKey="k")
    return _create(who, idempotencyKey="k", questionCount=7)


@case("PAYLOAD_TOO_LARGE")
def _(who: Asker) -> Request:
    return _create(who, answerText="x" * 1_000_001)


@case("TOO_MANY_JOBS")
def _(who: Asker) -> Request:
    who.limited("max_active_jobs", 1)
    who.here.create()
    return _create(who)


@case("QUOTA_EXCEEDED")
def _(who: Asker) -> Request:
    who.limited("monthly_token_quota", 100)
    return _create(who)


@case("RATE_LIMITED")
def _(who: Asker) -> Request:
    for _ in range(PER_MINUTE):
        assert who.ask("GET", f"{PREFIX}/jobs").status_code == 200
    return _create(who)


def _circuit_is(state: str) -> None:
    rows(
        "INSERT INTO platform_circuit (provider, model, state, epoch, cause, probes, opened_at, "
        "next_probe_at) VALUES ('openai', 'deepseek-flash', %(state)s, 1, 'PROVIDER_UNAVAILABLE', "
        "2, now(), now() + interval '60 s')",
        state=state,
    )


@case("PLATFORM_CIRCUIT_OPEN")
def _(who: Asker) -> Request:
    _circuit_is("open")
    return _create(who)


@case("PLATFORM_CIRCUIT_HALF_OPEN")
def _(who: Asker) -> Request:
    for _ in range(2):
        who.here.create()
    _circuit_is("half_open")
    return _create(who)


@case("PLATFORM_UNAVAILABLE")
def _(who: Asker) -> Request:
    """This API has no master key, so it can keep nobody's own key."""
    key = {"provider": "deepseek", "apiKey": "a-key-of-mine-0001"}
    return Request("POST", f"{PREFIX}/model-credentials", {"json": key})


def add_material(here: World) -> None:
    """A knowledge base of the user's."""
    learner.add_base(here.base_id, here.user_id, "The cell")
    points = [NewPoint(uuid4(), title, body, ("cell",)) for title, body in POINTS]
    learner.add_points(here.base_id, points)
