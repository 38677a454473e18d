"""A job type as one immutable value: queue, limits, schemas, model, prompt, credential, projector.

Invariant: a definition that `check` lets pass can be executed without asking anything else about
its job type; what the job type does is in the functions and models that it names.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from aijobs.engine.output_schema import output_schema

if TYPE_CHECKING:
    from aijobs.engine.answer.params import AnswerParams

DOMAINS = ("analysis", "generation", "import", "maintenance")
BACKOFF_BASE_SECONDS = {"ai-interactive": 2.0, "ai-background": 5.0, "ai-analysis": 1.0}
QUEUES = tuple(BACKOFF_BASE_SECONDS)
LANES = ("engine", "runtime")
CREDENTIAL_MODES = ("platform_key", "user_key")

#: `(output, params) -> problems`: what the schema cannot say, one sentence per problem.
Rules = Callable[[Any, "AnswerParams"], tuple[str, ...]]
#: `(raw value) -> (value, names of the repairs)`: near misses with one reading, before the schema.
Mend = Callable[[dict[str, Any]], tuple[dict[str, Any], tuple[str, ...]]]


class InvalidJobDefinition(Exception):
    """A definition breaks a rule. `field` names the part, `reason` says what it must be."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field} {reason}")
        self.field = field
        self.reason = reason


def no_rules(_output: BaseModel, _params: AnswerParams) -> tuple[str, ...]:
    """For outputs whose schema says everything."""
    return ()


def no_mend(value: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """For outputs without near misses of their own."""
    return value, ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDefinition:
    """The contract's table "Definitions and registry", one field per part. Durations in seconds."""

    job_type: str
    label: str
    description: str
    domain: str
    version: int = 1

    queue_name: str
    default_priority: int = 50
    lane: str = "engine"

    timeout_seconds: int = 120
    max_retries: int = 3
    backoff_base_seconds: float | None = None
    cancellable: bool = True
    on_timeout: str = "retry"
    repair_rounds: int = 1

    input_schema_version: str = "1"
    snapshot_builder: str = "learner"
    target_types: frozenset[str]
    parameters: type[BaseModel]
    count_parameter: str | None = None

    output_schema_version: str = "1"
    output_model: type[BaseModel]
    items_field: str | None = None
    rules: Rules = no_rules
    mend: Mend = no_mend

    tier: str = "standard"
    max_output_tokens: int
    temperature: float = 0.3
    thinking: bool = False

    prompt_key: str
    prompt_version: str = "v1"
    prompt_folder: Path | None = None  # an application's own templates; None: the built-in ones

    credential_modes: frozenset[str] = frozenset(CREDENTIAL_MODES)
    default_credential_mode: str = "platform_key"

    projector: str | None = None

    content_safety_check: bool = True
    output_redaction: bool = False

    @property
    def backoff_base(self) -> float:
        """Seconds that the first retry's delay is drawn from: its own, or its queue's."""
        if self.backoff_base_seconds is not None:
            return self.backoff_base_seconds
        return BACKOFF_BASE_SECONDS[self.queue_name]

    def requested_count(self, parameters: BaseModel) -> int | None:
        """How many items these parameters ask for; None where the type has no such number."""
        if self.count_parameter is None:
            return None
        return int(getattr(parameters, self.count_parameter))

    def output_schema(self) -> dict[str, Any]:
        """The published JSON Schema of the output."""
        return output_schema(self.output_model)


def check(definition: JobDefinition) -> None:
    """Raise InvalidJobDefinition for the first broken rule."""
    for field, holds, reason in _RULES:
        if not holds(definition):
            raise InvalidJobDefinition(field, reason)


def _is_name(text: object, pattern: str = r"[a-z][a-z0-9_]{1,63}") -> bool:
    return isinstance(text, str) and re.fullmatch(pattern, text) is not None


def _is_whole(number: object, low: int, high: int) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and low <= number <= high


def _is_number(number: object, low: float, high: float) -> bool:
    return (
        isinstance(number, int | float) and not isinstance(number, bool) and low <= number <= high
    )


def _is_text(text: object) -> bool:
    return isinstance(text, str) and bool(text.strip())


def _is_model(model: object) -> bool:
    return isinstance(model, type) and issubclass(model, BaseModel)


def _has_field(model: type[BaseModel], name: str | None) -> bool:
    return name is None or name in model.model_fields


_VERSION = r"v[1-9][0-9]*"
_RULES: tuple[tuple[str, Callable[[JobDefinition], bool], str], ...] = (
    ("job_type", lambda d: _is_name(d.job_type), "must match ^[a-z][a-z0-9_]{1,63}$"),
    ("label", lambda d: _is_text(d.label), "must not be empty"),
    ("description", lambda d: _is_text(d.description), "must not be empty"),
    ("domain", lambda d: d.domain in DOMAINS, f"must be one of {', '.join(DOMAINS)}"),
    ("version", lambda d: _is_whole(d.version, 1, 2**31 - 1), "must be a whole number from 1"),
    ("queue_name", lambda d: d.queue_name in QUEUES, f"must be one of {', '.join(QUEUES)}"),
    ("default_priority", lambda d: _is_whole(d.default_priority, 0, 100), "must be 0 to 100"),
    ("lane", lambda d: d.lane in LANES, f"must be one of {', '.join(LANES)}"),
    ("timeout_seconds", lambda d: _is_whole(d.timeout_seconds, 1, 600), "must be 1 to 600"),
    ("max_retries", lambda d: _is_whole(d.max_retries, 0, 10), "must be 0 to 10"),
    (
        "backoff_base_seconds",
        lambda d: d.backoff_base_seconds is None or _is_number(d.backoff_base_seconds, 0, 600),
        "must be 0 to 600, or None for the queue's",
    ),
    ("cancellable", lambda d: isinstance(d.cancellable, bool), "must be true or false"),
    ("on_timeout", lambda d: d.on_timeout in ("fail", "retry"), "must be fail or retry"),
    ("repair_rounds", lambda d: _is_whole(d.repair_rounds, 0, 2), "must be 0 to 2"),
    ("input_schema_version", lambda d: _is_text(d.input_schema_version), "must not be empty"),
    (
        "snapshot_builder",
        lambda d: _is_name(d.snapshot_builder),
        "must be a snapshot builder's key",
    ),
    (
        "target_types",
        lambda d: isinstance(d.target_types, frozenset) and bool(d.target_types),
        "must be a frozenset with at least one target type",
    ),
    ("target_types", lambda d: all(map(_is_name, d.target_types)), "must hold lower-case names"),
    ("parameters", lambda d: _is_model(d.parameters), "must be a pydantic model"),
    (
        "count_parameter",
        lambda d: _has_field(d.parameters, d.count_parameter),
        "must be a field of the parameters",
    ),
    ("output_schema_version", lambda d: _is_text(d.output_schema_version), "must not be empty"),
    ("output_model", lambda d: _is_model(d.output_model), "must be a pydantic model"),
    (
        "items_field",
        lambda d: _has_field(d.output_model, d.items_field),
        "must be a field of the output model",
    ),
    ("rules", lambda d: callable(d.rules), "must be a function"),
    ("mend", lambda d: callable(d.mend), "must be a function"),
    ("tier", lambda d: _is_name(d.tier), "must be a tier's name"),
    (
        "max_output_tokens",
        lambda d: _is_whole(d.max_output_tokens, 1, 393_216),
        "must be 1 to 393216",
    ),
    ("temperature", lambda d: _is_number(d.temperature, 0, 2), "must be 0 to 2"),
    ("thinking", lambda d: isinstance(d.thinking, bool), "must be true or false"),
    ("prompt_key", lambda d: _is_name(d.prompt_key), "must be a prompt folder's name"),
    ("prompt_version", lambda d: _is_name(d.prompt_version, _VERSION), "must be v1, v2, ..."),
    (
        "prompt_folder",
        lambda d: d.prompt_folder is None or isinstance(d.prompt_folder, Path),
        "must be a Path, or None for the built-in prompts",
    ),
    (
        "credential_modes",
        lambda d: bool(d.credential_modes) and d.credential_modes <= set(CREDENTIAL_MODES),
        f"must be some of {', '.join(CREDENTIAL_MODES)}",
    ),
    (
        "default_credential_mode",
        lambda d: d.default_credential_mode in d.credential_modes,
        "must be one of credential_modes",
    ),
    (
        "projector",
        lambda d: d.projector is None or _is_name(d.projector),
        "must be a projector's key",
    ),
    (
        "content_safety_check",
        lambda d: isinstance(d.content_safety_check, bool),
        "must be true or false",
    ),
    ("output_redaction", lambda d: isinstance(d.output_redaction, bool), "must be true or false"),
)
