"""Settings: every problem at once, one line each, naming the variable and what it must be."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from pydantic import SecretStr

from aijobs.engine.engine import build_engine
from aijobs.engine.setting_names import DEVELOPMENT_SECRETS, variable
from aijobs.engine.settings import Settings, SettingsError

PLACES = {"DATABASE_URL": "postgresql:///nowhere", "REDIS_URL": "redis://127.0.0.1:1/0"}
STRONG = {
    "AIJOBS_JWT_SECRET": "j" * 32,
    "AIJOBS_RUNTIME_SERVICE_TOKEN": "t" * 32,
}
ROUTE = {
    "provider": "deepseek",
    "model": "m",
    "baseUrl": "https://api.example/v1",
    "apiKeyVariable": "KEY_OF_THE_ROUTE",
}


def problems(**environ: str) -> list[str]:
    """What is wrong with the places of the tests and these variables; an empty one is unset."""
    try:
        Settings.from_env({**PLACES, **environ})
    except SettingsError as refused:
        return refused.problems
    return []


def named(found: list[str]) -> list[str]:
    """The variable that each problem names first."""
    return [problem.split()[0].rstrip(":") for problem in found]


def test_two_places_are_enough() -> None:
    settings = Settings.from_env(PLACES)
    assert (settings.mode, settings.provider) == ("development", "offline")
    assert (settings.lease_seconds, settings.lease_grace_seconds) == (60, 30)
    assert settings.heartbeat_seconds == 15, "a quarter of the lease"
    assert settings.instance


def test_a_limit_that_no_column_holds_is_refused() -> None:
    """It would be a 500 at every POST /jobs, or an end for no attempt."""
    most = {
        "AIJOBS_MAX_DAILY_AI_JOBS": 2**31 - 1,
        "AIJOBS_MAX_DAILY_TOKEN_BUDGET": 10**15,
        "AIJOBS_MONTHLY_TOKEN_QUOTA": 10**15,
        "AIJOBS_PLATFORM_DAILY_TOKENS": 10**15,
        "AIJOBS_CIRCUIT_FAILURES": 1_000_000,
    }
    assert problems(**{name: str(value) for name, value in most.items()}) == []
    assert named(problems(**{name: str(value + 1) for name, value in most.items()})) == [*most]


def test_what_is_missing_is_described() -> None:
    found = problems(DATABASE_URL="", REDIS_URL="")
    assert found == [
        "DATABASE_URL is not set: give PostgreSQL URL of the application role",
        "REDIS_URL is not set: give Redis or Valkey URL: messages, wake-ups, throttles",
    ]


def test_all_problems_are_told_together() -> None:
    """Those of a field, those between fields, and those of a mode."""
    found = problems(
        DATABASE_URL="",
        REDIS_URL="http://cache",
        AIJOBS_PROVIDER="closedai",
        AIJOBS_HEARTBEAT_SECONDS="60",
        AIJOBS_API_THREADS="many",
        AIJOBS_MODE="production",
        AIJOBS_ROUTES="{",
    )
    assert sorted(named(found)) == [
        "AIJOBS_API_THREADS",
        "AIJOBS_HEARTBEAT_SECONDS",
        "AIJOBS_JWT_SECRET",
        "AIJOBS_PROVIDER",
        "AIJOBS_ROUTES",
        "AIJOBS_RUNTIME_SERVICE_TOKEN",
        "DATABASE_URL",
        "REDIS_URL",
    ]


def test_each_problem_is_one_line() -> None:
    with pytest.raises(SettingsError) as refused:
        Settings.from_env({"AIJOBS_MODE": "a\nb", "AIJOBS_ROUTES": "[\n1]"})
    assert str(refused.value) == "; ".join(refused.value.problems)
    assert len(refused.value.problems) == 4
    assert "\n" not in str(refused.value)


def test_nothing_is_said_of_what_rests_on_a_faulty_value() -> None:
    """The lease is nonsense, so nobody knows whether the heartbeat is under it."""
    found = problems(AIJOBS_LEASE_SECONDS="-5", AIJOBS_HEARTBEAT_SECONDS="60")
    assert named(found) == ["AIJOBS_LEASE_SECONDS"]


@pytest.mark.parametrize(
    ("lease", "heartbeat", "fits"),
    [("60", "59.9", True), ("60", "60", False), ("60", "61", False), ("1", "", True)],
)
def test_the_heartbeat_is_under_the_lease(lease: str, heartbeat: str, fits: bool) -> None:
    found = problems(AIJOBS_LEASE_SECONDS=lease, AIJOBS_HEARTBEAT_SECONDS=heartbeat)
    assert (found == []) is fits
    if not fits:
        assert f"({heartbeat})" in found[0]
        assert f"AIJOBS_LEASE_SECONDS ({lease})" in found[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AIJOBS_LEASE_SECONDS", "0"),
        ("AIJOBS_LEASE_SECONDS", "nan"),
        ("AIJOBS_LEASE_SECONDS", "inf"),
        ("AIJOBS_LEASE_SECONDS", "a minute"),
        ("AIJOBS_LEASE_GRACE_SECONDS", "-1"),
        ("AIJOBS_HEARTBEAT_SECONDS", "-1"),
        ("AIJOBS_OUTBOX_BATCH", "0"),
        ("AIJOBS_OUTBOX_BATCH", "1001"),
        ("AIJOBS_OUTBOX_BATCH", "1.5"),
        ("AIJOBS_OUTBOX_POLL_SECONDS", "61"),
        ("AIJOBS_SNAPSHOT_BYTES", "999"),
        ("AIJOBS_DATABASE_CONNECTIONS", "0"),
        ("AIJOBS_API_THREADS", "1"),
        ("AIJOBS_MODE", "prod"),
        ("AIJOBS_PROVIDER", "deepseek"),
        ("AIJOBS_LOG_FORMAT", "xml"),
        ("AIJOBS_LOG_LEVEL", "loud"),
    ],
)
def test_a_value_out_of_its_range_is_named(name: str, value: str) -> None:
    (problem,) = problems(**{name: value})
    assert problem.startswith(f"{name} cannot be used: ")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "mysql://host/db"),
        ("DATABASE_URL", "host:5432/db"),
        ("DATABASE_DIRECT_URL", "http://host/db"),
        ("REDIS_URL", "http://host"),
        ("REDIS_URL", "valkey://host"),
        ("REDIS_URL", "host:6379"),
        ("AMQP_URL", "redis://host"),
        ("AIJOBS_PROVIDER_BASE_URL", "ftp://host"),
        ("AIJOBS_PROVIDER_BASE_URL", "api.example"),
    ],
)
def test_a_url_of_another_kind_is_told_how_it_begins(name: str, value: str) -> None:
    assert named(problems(**{name: value})) == [name]
    assert " must begin with " in problems(**{name: value})[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("REDIS_URL", "redis://host:port/0"),
        ("REDIS_URL", "redis://host:99999/0"),
        ("REDIS_URL", "redis://:se/cret@host:1/0"),
        ("REDIS_URL", "redis://[::1/0"),
        ("AMQP_URL", "amqp://host:port/%2f"),
        ("AMQP_URL", "amqp://one:1/;amqp://two:x/"),
        ("AIJOBS_PROVIDER_BASE_URL", "https://"),
        ("AIJOBS_PROVIDER_BASE_URL", "https://:443/v1"),
        ("AIJOBS_PROVIDER_BASE_URL", "https://host:port"),
    ],
)
def test_a_url_that_cannot_be_taken_apart_is_told_without_its_password(
    name: str, value: str
) -> None:
    (problem,) = problems(**{name: value})
    assert problem.startswith(f"{name} names no place")
    assert "cret" not in problem and "se" not in problem.split()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "postgres://u:p%2Fw@[::1]:5432/db?sslmode=require"),
        ("DATABASE_URL", "postgresql://one:5432,two:5433/db?target_session_attrs=read-write"),
        ("DATABASE_URL", "postgresql:///db?host=/var/run/postgresql"),
        ("REDIS_URL", "redis://"),
        ("REDIS_URL", "rediss://:p%2Fw@[::1]:6380/1"),
        ("REDIS_URL", "unix:///run/valkey.sock?db=1"),
        ("AMQP_URL", "amqps://u:p@one:5671/v;amqps://two/v"),
    ],
)
def test_a_url_that_its_client_takes_is_taken(name: str, value: str) -> None:
    assert problems(**{name: value}) == []


def test_an_openai_provider_needs_a_key() -> None:
    (problem,) = problems(AIJOBS_PROVIDER="openai")
    assert problem == "AIJOBS_PROVIDER=openai needs AIJOBS_PROVIDER_API_KEY or AIJOBS_ROUTES"
    assert problems(AIJOBS_PROVIDER="openai", AIJOBS_PROVIDER_API_KEY="k") == []


def _routes(*routes: Any, **environ: str) -> list[str]:
    return problems(AIJOBS_PROVIDER="openai", AIJOBS_ROUTES=json.dumps(routes), **environ)


def test_routes_are_read_with_their_keys() -> None:
    environ = {**PLACES, "AIJOBS_ROUTES": json.dumps([ROUTE]), "KEY_OF_THE_ROUTE": "the-key"}
    (route,) = Settings.from_env(environ).routes
    assert (route.tier, route.model, route.base_url) == ("standard", "m", ROUTE["baseUrl"])
    assert route.api_key == SecretStr("the-key")
    assert "the-key" not in repr(route)


@pytest.mark.parametrize(
    ("route", "told"),
    [
        ({**ROUTE, "model": ""}, "AIJOBS_ROUTES[1].model cannot be used: "),
        ({k: v for k, v in ROUTE.items() if k != "model"}, "AIJOBS_ROUTES[1].model is not set: "),
        ({**ROUTE, "baseUrl": "api.example"}, "AIJOBS_ROUTES[1].baseUrl cannot be used: "),
        ({**ROUTE, "unknown": 1}, "AIJOBS_ROUTES[1].unknown cannot be used: "),
        ({**ROUTE, "extraBody": []}, "AIJOBS_ROUTES[1].extraBody cannot be used: "),
        ("text", "AIJOBS_ROUTES[1] cannot be used: "),
    ],
)
def test_a_faulty_route_is_found_in_the_list(route: Any, told: str) -> None:
    (problem,) = _routes(ROUTE, route, KEY_OF_THE_ROUTE="k")
    assert problem.startswith(told)


@pytest.mark.parametrize("text", ["{", "5", '"x"', "[" * 5000, "[1,]", "NaN,"])
def test_routes_that_are_no_list_are_told_in_one_line(text: str) -> None:
    (problem,) = problems(AIJOBS_ROUTES=text)
    assert problem.startswith("AIJOBS_ROUTES cannot be used: ")


def test_a_route_without_its_key_or_place_is_told() -> None:
    (problem,) = _routes(ROUTE)
    assert "KEY_OF_THE_ROUTE is not set" in problem
    (problem,) = _routes({**ROUTE, "baseUrl": "https://:1"}, KEY_OF_THE_ROUTE="k")
    assert problem.startswith("AIJOBS_ROUTES: baseUrl names no place")


@pytest.mark.parametrize(
    ("name", "value", "strong"),
    [
        ("AIJOBS_JWT_SECRET", DEVELOPMENT_SECRETS["jwt_secret"], False),
        ("AIJOBS_JWT_SECRET", "j" * 31, False),
        ("AIJOBS_JWT_SECRET", "字" * 11, True),  # 33 bytes
        ("AIJOBS_RUNTIME_SERVICE_TOKEN", DEVELOPMENT_SECRETS["runtime_service_token"], False),
        ("AIJOBS_RUNTIME_SERVICE_TOKEN", "t" * 32 + ",short", False),
        ("AIJOBS_RUNTIME_SERVICE_TOKEN", "t" * 32 + "," + "u" * 32, True),
    ],
)
def test_production_refuses_weak_secrets(name: str, value: str, strong: bool) -> None:
    found = problems(AIJOBS_MODE="production", **{**STRONG, name: value})
    assert named(found) == ([] if strong else [name])
    assert all(value not in problem for problem in found), "a secret is never told"
    assert problems(**{name: value}) == [], "in development anything goes"


def test_secrets_show_nowhere() -> None:
    environ = {**PLACES, **STRONG, "AIJOBS_PROVIDER_API_KEY": "key-of-the-platform"}
    settings = Settings.from_env(environ)
    for secret in ("j" * 32, "t" * 32, "key-of-the-platform"):
        assert secret not in repr(settings) + str(settings)


def test_lists_are_split_and_trimmed() -> None:
    environ = {**PLACES, "AIJOBS_DEFINITIONS_MODULES": " a.b , c ,,"}
    assert Settings.from_env(environ).definitions_modules == ("a.b", "c")


@pytest.mark.parametrize(
    ("modules", "told"),
    [
        ("nowhere.at_all", "No module named 'nowhere'"),
        ("json", "no attribute 'register'"),
        ("tests.unit.engine.double_definitions", "quiz_generation"),
    ],
)
def test_modules_without_definitions_are_told_in_one_line(modules: str, told: str) -> None:
    settings = Settings.from_env({**PLACES, "AIJOBS_DEFINITIONS_MODULES": modules})
    with pytest.raises(SettingsError) as refused:
        build_engine(settings)
    (problem,) = refused.value.problems
    assert problem.startswith("AIJOBS_DEFINITIONS_MODULES cannot be used: ")
    assert told in problem


@pytest.mark.parametrize("field", Settings.model_fields)
def test_every_setting_is_read_from_its_own_variable(field: str) -> None:
    name = variable(field)
    assert name.startswith(("AIJOBS_", "DATABASE_", "REDIS_", "AMQP_"))
    if Settings.model_fields[field].annotation in (int, float):
        assert named(problems(**{name: "x"})) == [name]


def test_an_empty_variable_is_as_good_as_unset() -> None:
    empty = {variable(field): "" for field in Settings.model_fields}
    assert Settings.from_env({**empty, **PLACES}) == Settings.from_env(PLACES)


@pytest.mark.parametrize("ending", ["?nonsense=1", "?heartbeat=often", "?socket_timeout=-1"])
def test_parameters_that_rabbitmqs_client_refuses_are_told(ending: str) -> None:
    assert problems(AMQP_URL="amqp://127.0.0.1/%2F?heartbeat=30") == []
    (problem,) = problems(AMQP_URL=f"amqp://127.0.0.1/%2F;amqp://127.0.0.1/%2F{ending}")
    assert problem.startswith("AMQP_URL has parameters")


def test_rabbitmq_without_its_client_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert problems(AMQP_URL="amqp://127.0.0.1/") == []
    monkeypatch.setitem(sys.modules, "pika", None)
    (problem,) = problems(AMQP_URL="amqp://127.0.0.1/")
    assert problem.startswith("AMQP_URL") and "aijobs[rabbitmq]" in problem
    assert problems() == []
