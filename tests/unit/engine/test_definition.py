"""Definitions and the registry."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import ValidationError

from aijobs.engine.definition import InvalidJobDefinition, JobDefinition, check
from aijobs.engine.job_types import (
    BUILTIN,
    active_recall,
    feynman_evaluation,
    flashcard_generation,
    learning_state_analysis,
    next_action_planning,
    quiz_generation,
    weak_point_analysis,
)
from aijobs.engine.registry import (
    DuplicateJobDefinition,
    Registry,
    UnknownJobType,
    builtin_registry,
)

CASES = Path(__file__).parents[2] / "cases"
SCHEMAS: dict[str, Any] = json.loads((CASES / "output_schemas.json").read_text())
DEFINITIONS = [
    module.DEFINITION
    for module in (
        quiz_generation,
        flashcard_generation,
        learning_state_analysis,
        weak_point_analysis,
        next_action_planning,
        active_recall,
        feynman_evaluation,
    )
]
QUIZ = quiz_generation.DEFINITION


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda d: d.job_type)
def test_the_published_schema_is_the_contract(definition: JobDefinition) -> None:
    assert definition.output_schema() == SCHEMAS[definition.job_type]


def test_every_job_type_of_the_contract_has_a_definition() -> None:
    assert {definition.job_type for definition in DEFINITIONS} == set(SCHEMAS)


@pytest.mark.parametrize(
    ("job_type", "queue", "targets"),
    [
        ("learning_state_analysis", "ai-background", {"user"}),
        ("weak_point_analysis", "ai-background", {"user", "knowledge_base", "material"}),
        ("next_action_planning", "ai-background", {"user"}),
        ("quiz_generation", "ai-interactive", {"knowledge_base"}),
        ("flashcard_generation", "ai-interactive", {"knowledge_base"}),
        ("active_recall", "ai-analysis", {"knowledge_point"}),
        ("feynman_evaluation", "ai-analysis", {"knowledge_point"}),
    ],
)
def test_queue_and_targets_are_the_contract(job_type: str, queue: str, targets: set[str]) -> None:
    [definition] = [item for item in DEFINITIONS if item.job_type == job_type]
    check(definition)
    assert (definition.queue_name, definition.target_types) == (queue, targets)


def test_defaults_are_the_contract() -> None:
    assert (QUIZ.max_retries, QUIZ.repair_rounds, QUIZ.timeout_seconds) == (3, 1, 120)
    assert (QUIZ.output_schema_version, QUIZ.default_credential_mode) == ("1", "platform_key")


@pytest.mark.parametrize(
    ("queue", "seconds"), [("ai-interactive", 2), ("ai-background", 5), ("ai-analysis", 1)]
)
def test_backoff_comes_from_the_queue_unless_it_is_given(queue: str, seconds: float) -> None:
    assert dataclasses.replace(QUIZ, queue_name=queue).backoff_base == seconds
    own = dataclasses.replace(QUIZ, queue_name=queue, backoff_base_seconds=7.5)
    assert own.backoff_base == 7.5


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("job_type", "Quiz"),
        ("job_type", "q"),
        ("job_type", "1quiz"),
        ("job_type", "q" * 65),
        ("job_type", "quiz\n"),
        ("label", " "),
        ("description", ""),
        ("domain", "other"),
        ("version", 0),
        ("version", True),
        ("queue_name", "ai-other"),
        ("default_priority", 101),
        ("default_priority", -1),
        ("lane", "elsewhere"),
        ("timeout_seconds", 0),
        ("timeout_seconds", 601),
        ("max_retries", 11),
        ("max_retries", -1),
        ("backoff_base_seconds", -0.5),
        ("cancellable", 1),
        ("on_timeout", "ignore"),
        ("repair_rounds", 3),
        ("input_schema_version", ""),
        ("snapshot_builder", ""),
        ("target_types", frozenset()),
        ("target_types", frozenset({"Knowledge Base"})),
        ("parameters", dict),
        ("count_parameter", "nothing"),
        ("output_schema_version", ""),
        ("output_model", "Quiz"),
        ("items_field", "nothing"),
        ("rules", None),
        ("mend", None),
        ("tier", ""),
        ("max_output_tokens", 0),
        ("max_output_tokens", 393_217),
        ("temperature", 2.5),
        ("temperature", float("nan")),
        ("thinking", "off"),
        ("prompt_key", "../secrets"),
        ("prompt_version", "1"),
        ("prompt_folder", "prompts"),
        ("credential_modes", frozenset()),
        ("credential_modes", frozenset({"stolen_key"})),
        ("default_credential_mode", "stolen_key"),
        ("projector", "No Key"),
        ("content_safety_check", None),
        ("output_redaction", None),
    ],
)
def test_a_broken_rule_names_its_field(field: str, value: Any) -> None:
    broken = dataclasses.replace(QUIZ, **{field: value})
    with pytest.raises(InvalidJobDefinition) as caught:
        Registry([broken])
    assert caught.value.field == field
    assert field in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("job_type", "ab"),
        ("job_type", "q" * 64),
        ("default_priority", 0),
        ("default_priority", 100),
        ("timeout_seconds", 600),
        ("max_retries", 0),
        ("max_retries", 10),
        ("repair_rounds", 0),
        ("repair_rounds", 2),
        ("projector", None),
    ],
)
def test_the_edges_of_a_rule_pass(field: str, value: Any) -> None:
    check(dataclasses.replace(QUIZ, **{field: value}))


def test_a_definition_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        QUIZ.version = 2  # type: ignore[misc]


def test_a_second_definition_of_a_type_is_refused_and_the_first_stays() -> None:
    registry = builtin_registry()
    with pytest.raises(DuplicateJobDefinition):
        registry.register(dataclasses.replace(QUIZ, version=2))
    assert registry.get("quiz_generation") is QUIZ


def test_an_unknown_type_is_said_to_be_unknown() -> None:
    with pytest.raises(UnknownJobType) as caught:
        builtin_registry().get("essay")
    assert caught.value.job_type == "essay"


def test_known_lists_types_and_versions() -> None:
    registry = Registry([dataclasses.replace(QUIZ, version=4)])
    assert registry.known() == [("quiz_generation", 4)]
    assert [item[0] for item in builtin_registry().known()] == sorted(d.job_type for d in BUILTIN)


def test_an_applications_module_adds_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("essays")
    essay = dataclasses.replace(QUIZ, job_type="essay")
    module.register = lambda registry: registry.register(essay)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "essays", module)
    registry = builtin_registry(["essays"])
    assert registry.get("essay") is essay
    assert "quiz_generation" in registry


def test_a_module_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ModuleNotFoundError):
        builtin_registry(["no_such_module_of_definitions"])


POINT = "0197f3a0-0000-7000-8000-000000000001"


@pytest.mark.parametrize(
    ("definition", "given", "count"),
    [
        (QUIZ, {}, 5),
        (QUIZ, {"questionCount": 50}, 50),
        (QUIZ, {"questionCount": 1, "pointIds": [POINT]}, 1),
        (flashcard_generation.DEFINITION, {}, 10),
        (flashcard_generation.DEFINITION, {"cardCount": 200}, 200),
        (active_recall.DEFINITION, {"answerText": "x" * 8000}, None),
        (learning_state_analysis.DEFINITION, {}, None),
    ],
)
def test_parameters_say_how_many_are_asked(
    definition: JobDefinition, given: dict[str, Any], count: int | None
) -> None:
    parameters = definition.parameters.model_validate(given)
    assert definition.requested_count(parameters) == count
    again = parameters.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert definition.parameters.model_validate(again) == parameters


@pytest.mark.parametrize(
    ("definition", "given"),
    [
        (QUIZ, {"questionCount": 0}),
        (QUIZ, {"questionCount": 51}),
        (QUIZ, {"questionCount": "5"}),
        (QUIZ, {"questionCount": True}),
        (QUIZ, {"questionCount": 5.0}),
        (QUIZ, {"question_count": 5}),
        (QUIZ, {"cardCount": 5}),
        (QUIZ, {"pointIds": ["x"]}),
        (QUIZ, {"pointIds": []}),
        (flashcard_generation.DEFINITION, {"cardCount": 201}),
        (active_recall.DEFINITION, {}),
        (active_recall.DEFINITION, {"answerText": ""}),
        (feynman_evaluation.DEFINITION, {"answerText": "x" * 8001}),
        (next_action_planning.DEFINITION, {"questionCount": 5}),
    ],
)
def test_parameters_outside_the_contract_are_refused(
    definition: JobDefinition, given: dict[str, Any]
) -> None:
    with pytest.raises(ValidationError):
        definition.parameters.model_validate(given)
