"""Every setting in one frozen value, read from the environment by the composition roots alone.

All problems are found at once and reported in one line each; a process that cannot work does not
start.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel

from aijobs.engine.key_hosts import DEFAULT_HOSTS, hosts_of
from aijobs.engine.master_keys import parse_master_keys
from aijobs.engine.setting_names import DEVELOPMENT_SECRETS, variable
from aijobs.engine.sound_settings import contradictions

_MOST_TOKENS = 10**15  # as the admin API: what is used comes on top, and fits a bigint

#: For required settings that are at fault, so that the rest can be checked too.
_STANDINS = {"database_url": "postgresql:///", "redis_url": "redis://127.0.0.1"}


class SettingsError(Exception):
    """The environment does not describe a system that can work. `problems`: one sentence each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class RouteSetting(BaseModel):
    """One route of AIJOBS_ROUTES. `apiKeyVariable` names the environment variable with its key."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    tier: str = "standard"
    provider: str = Field(min_length=1)
    model: str = Field(min_length=1)
    base_url: str = Field(pattern=r"^https?://")
    api_key_variable: str = Field(min_length=1)
    api_key: SecretStr = SecretStr("")
    extra_body: dict[str, Any] = {}


class Settings(BaseModel):
    """The settings (docs/settings.md). Durations are seconds unless the name says otherwise."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    database_url: str = Field(description="PostgreSQL URL of the application role")
    database_direct_url: str | None = Field(
        default=None, description="PostgreSQL URL for migrations, past any PgBouncer"
    )
    redis_url: str = Field(description="Redis or Valkey URL: messages, wake-ups, throttles")
    amqp_url: str | None = Field(
        default=None, description="RabbitMQ URL: messages go there instead of Redis"
    )
    mode: Literal["development", "production"] = Field(
        default="development", description="production refuses default and short secrets"
    )

    jwt_algorithm: Literal["HS256", "RS256", "ES256"] = Field(
        default="HS256", description="how the user and admin tokens are signed"
    )
    jwt_secret: SecretStr = Field(
        default=SecretStr(DEVELOPMENT_SECRETS["jwt_secret"]),
        description="HS256 key of those tokens",
    )
    jwt_jwks_file: Path | None = Field(
        default=None,
        description="JWKS file with the public keys of RS256 or ES256 tokens; read again when it "
        "changes",
    )
    jwt_issuer: str | None = Field(default=None, description="required `iss`, when set")
    jwt_audience: str | None = Field(default=None, description="required `aud`, when set")
    runtime_service_token: SecretStr = Field(
        default=SecretStr(DEVELOPMENT_SECRETS["runtime_service_token"]),
        description="bearer token(s) of runtimes, comma-separated",
    )

    master_keys: SecretStr | None = Field(
        default=None,
        description="keys that encrypt users' own keys: `id:base64` of 32 random bytes, "
        "comma-separated; the first encrypts, all decrypt",
    )
    credential_hosts: tuple[str, ...] = Field(
        default=DEFAULT_HOSTS,
        description="hosts that users' own keys may go to, comma-separated, `host=model` to name "
        "the model asked there",
    )

    provider: Literal["offline", "openai"] = Field(
        default="offline",
        description="who answers: the built-in rules, or an OpenAI-compatible server",
    )
    provider_base_url: str = Field(
        default="https://api.deepseek.com", description="base URL of the chat-completions API"
    )
    provider_api_key: SecretStr | None = Field(default=None, description="the platform's key")
    provider_model: str = Field(default="deepseek-flash", description="model asked for")
    routes: tuple[RouteSetting, ...] = Field(
        default=(),
        description="JSON list of routes per tier in order of preference, instead of the one above",
    )
    provider_connect_seconds: float = Field(
        default=10.0, gt=0, le=60, description="bound of DNS, connect and TLS of one call"
    )

    lease_seconds: float = Field(default=60.0, gt=0, description="how long a claim lasts unrenewed")
    lease_grace_seconds: float = Field(
        default=30.0, ge=0, description="what the reaper waits beyond a lapsed lease"
    )
    heartbeat_seconds: float = Field(
        default=0.0, ge=0, description="renewal interval; default a quarter of the lease"
    )
    reaper_interval_seconds: float = Field(
        default=30.0, gt=0, description="interval of reaper, sweep and outbox lock release"
    )
    redispatch_seconds: float = Field(
        default=120.0,
        gt=0,
        description="age at which a job's lost hint is sent again (then doubling)",
    )
    outbox_poll_seconds: float = Field(
        default=1.0, gt=0, le=60, description="what a lost relay hint costs at most"
    )
    outbox_lock_seconds: float = Field(
        default=60.0, gt=0, description="age at which a relay's claim on events is released"
    )
    outbox_batch: int = Field(default=100, ge=1, le=1000, description="events per relay batch")
    shutdown_seconds: float = Field(
        default=30.0, ge=0, description="what a stopping worker waits for running calls"
    )
    snapshot_hours: float = Field(default=24.0, gt=0, description="life of a snapshot")
    snapshot_bytes: int = Field(
        default=48_000, ge=1_000, description="size budget of a snapshot's source items (UTF-8)"
    )

    database_connections: int = Field(
        default=7,
        ge=1,
        le=100,
        description="pooled connections per process (heartbeat has its own)",
    )
    statement_seconds: float = Field(default=30.0, gt=0, description="PostgreSQL statement_timeout")
    api_threads: int = Field(
        default=16,
        ge=2,
        le=500,
        description="threads of an API process; half of them may long-poll",
    )
    user_requests_per_minute: int = Field(
        default=60,
        ge=0,
        le=100_000,
        description="requests a minute of one user to the user API; 0 is no limit",
    )
    admin_requests_per_minute: int = Field(
        default=120,
        ge=0,
        le=100_000,
        description="requests a minute of one administrator to the admin API; 0 is no limit",
    )
    max_daily_ai_jobs: int = Field(
        default=20,
        ge=0,
        le=2**31 - 1,
        description="jobs a day of a user without limits of their own",
    )
    max_daily_token_budget: int = Field(
        default=100_000,
        ge=0,
        le=_MOST_TOKENS,
        description="tokens a day of such a user, for each kind of key",
    )
    monthly_token_quota: int | None = Field(
        default=None,
        ge=0,
        le=_MOST_TOKENS,
        description="tokens a month of such a user; unset is no limit",
    )
    max_active_jobs: int = Field(
        default=5, ge=0, le=1_000_000, description="jobs under way at once of such a user"
    )
    platform_daily_tokens: int = Field(
        default=10_000_000,
        ge=0,
        le=_MOST_TOKENS,
        description="tokens a UTC day on the platform's key",
    )
    platform_daily_cost_usd: float = Field(
        default=500.0, ge=0, le=1e9, description="USD a UTC day on the platform's key"
    )
    circuit_failures: int = Field(
        default=10,
        ge=1,
        le=1_000_000,
        description="consecutive failures that open a route's circuit",
    )
    circuit_open_seconds: float = Field(
        default=60.0, gt=0, le=86_400, description="how long it stays open before it is probed"
    )
    circuit_probes: int = Field(
        default=2, ge=1, le=100, description="jobs at once that probe a half-open circuit"
    )
    circuit_by_itself: bool = Field(
        default=True, description="probe by itself; false: an administrator opens it half"
    )
    definitions_modules: tuple[str, ...] = Field(
        default=(), description="modules with an application's own job definitions, comma-separated"
    )
    log_format: Literal["console", "json"] = Field(
        default="console", description="json in production"
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="least severe line that is written"
    )
    metrics_dir: Path | None = Field(
        default=None,
        description="directory in which all processes of a host count together for `/metrics`; "
        "unset: each for itself",
    )
    instance: str = Field(
        default_factory=socket.gethostname, description="host part of lease holders' names"
    )

    @field_validator("definitions_modules", "credential_hosts", mode="before")
    @classmethod
    def _split(cls, given: Any) -> Any:
        if not isinstance(given, str):
            return given
        return tuple(name.strip() for name in given.split(",") if name.strip())

    @field_validator("credential_hosts")
    @classmethod
    def _are_hosts(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        hosts_of(given)
        return given

    @field_validator("master_keys")
    @classmethod
    def _are_keys(cls, given: SecretStr | None) -> SecretStr | None:
        if given is not None:
            parse_master_keys(given.get_secret_value())
        return given

    @field_validator("routes", mode="before")
    @classmethod
    def _read_json(cls, given: Any) -> Any:
        try:
            return json.loads(given) if isinstance(given, str) else given
        except (ValueError, RecursionError):
            raise ValueError("must be JSON: a list of objects") from None

    @model_validator(mode="after")
    def _derive(self) -> Settings:
        if not self.heartbeat_seconds:
            object.__setattr__(self, "heartbeat_seconds", self.lease_seconds / 4)
        return self

    @property
    def missed_seconds(self) -> float:
        """How long after its lease an active job has been missed by two sweeps: a fault of ours."""
        return self.lease_grace_seconds + 2 * self.reaper_interval_seconds

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Settings:
        """Read AIJOBS_*, DATABASE_URL, DATABASE_DIRECT_URL and REDIS_URL.

        Raises SettingsError with every problem found, each naming the variable and the fix.
        """
        values = {
            field: environ[variable(field)]
            for field in cls.model_fields
            if environ.get(variable(field), "") != ""
        }
        problems: list[str] = []
        try:
            settings = cls.model_validate(values)
        except ValidationError as error:
            items = error.errors()
            problems = [_sentence(item) for item in items]
            faulty = {str(item["loc"][0]) for item in items}
            sound = {name: value for name, value in values.items() if name not in faulty}
            settings = cls.model_validate(_STANDINS | sound)
        else:
            faulty = set()
        settings = settings.with_route_keys(environ)
        problems += [
            problem
            for problem in contradictions(settings)
            if not any(variable(field) in problem for field in faulty)
        ]
        if problems:
            raise SettingsError(problems)
        return settings

    def with_route_keys(self, environ: Mapping[str, str]) -> Settings:
        """The same with each route's key, read from the variable that it names."""
        keyed = tuple(
            route.model_copy(update={"api_key": SecretStr(environ.get(route.api_key_variable, ""))})
            for route in self.routes
        )
        return self.model_copy(update={"routes": keyed})


def _sentence(item: Any) -> str:
    field, *inner = item["loc"]
    place = variable(str(field)) + "".join(
        f"[{step}]" if isinstance(step, int) else f".{step}" for step in inner
    )
    if item["type"] == "missing":
        told = "it" if inner else Settings.model_fields[field].description
        return f"{place} is not set: give {told}"
    return f"{place} cannot be used: {item['msg'].removeprefix('Value error, ')}"
