"""The document is valid OpenAPI 3.1, says something of everything, and its examples are true."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from openapi_schema_validator import OAS31Validator, oas31_format_checker
from openapi_spec_validator import OpenAPIV31SpecValidator
from pydantic import BaseModel, Field, TypeAdapter

from aijobs.engine.definition import JobDefinition
from aijobs.engine.job_types import BUILTIN
from aijobs.engine.registry import Registry
from aijobs.engine.request import JobRequest
from aijobs.http.openapi import openapi_document
from aijobs.http.openapi.document import GROUPS
from aijobs.http.openapi.operation import FileBody
from aijobs.http.openapi.wording import REQUESTS
from aijobs.http.problems import PROBLEMS

DOCUMENT = openapi_document(Registry(BUILTIN))
SCHEMAS = DOCUMENT["components"]["schemas"]
OPERATIONS = {
    operation["operationId"]: operation
    for methods in DOCUMENT["paths"].values()
    for operation in methods.values()
}


def _media(operation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every media type object of an operation."""
    yield from operation.get("requestBody", {}).get("content", {}).values()
    for response in operation["responses"].values():
        yield from response.get("content", {}).values()


def _errors(schema: dict[str, Any], value: Any) -> list[str]:
    whole = {**schema, "components": DOCUMENT["components"]}
    checker = OAS31Validator(whole, format_checker=oas31_format_checker)
    return [error.message for error in checker.iter_errors(value)]


def test_it_is_valid_openapi() -> None:
    OpenAPIV31SpecValidator(DOCUMENT).validate()


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_schema_is_valid_json_schema(name: str) -> None:
    OAS31Validator.check_schema(SCHEMAS[name])


def test_no_operation_is_listed_twice() -> None:
    listed = [(item.method, item.path) for group in GROUPS for item in group.operations]
    assert len(OPERATIONS) == len(listed) == len(set(listed))


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_is_told_and_its_examples_fit(name: str) -> None:
    operation = OPERATIONS[name]
    assert operation["summary"] and operation["tags"]
    for parameter in operation.get("parameters", ()):
        assert parameter["description"], parameter["name"]
    for media in _media(operation):
        examples = [one["value"] for one in media.get("examples", {}).values()]
        examples += [media["example"]] if "example" in media else []
        for example in examples:
            assert _errors(media["schema"], example) == []


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_needs_a_token_but_those_of_the_service(name: str) -> None:
    operation = OPERATIONS[name]
    assert DOCUMENT["security"] == [{"bearer": []}]
    if operation["tags"] == ["Service"]:
        assert operation["security"] == []
        assert "401" not in operation["responses"]
    else:
        assert "security" not in operation
        codes = _codes(operation, "401")
        assert codes == ["UNAUTHENTICATED"]


@pytest.mark.parametrize(
    ("name", "status", "codes"),
    [
        ("createJob", "409", ["DEPENDENCY_FAILED", "IDEMPOTENCY_KEY_REUSED"]),
        ("createJob", "413", ["PAYLOAD_TOO_LARGE"]),
        ("getJobResult", "409", ["JOB_NOT_FINISHED"]),
        ("cancelJob", "409", ["JOB_NOT_CANCELLABLE", "JOB_ALREADY_CANCELLED"]),
        ("getKnowledgeBase", "404", ["NOT_FOUND"]),
        ("listJobs", "429", ["RATE_LIMITED"]),
        ("listJobs", "503", ["PLATFORM_UNAVAILABLE"]),
    ],
)
def test_problems_are_listed_by_status(name: str, status: str, codes: list[str]) -> None:
    assert _codes(OPERATIONS[name], status) == codes


def test_every_problem_of_the_api_is_listed() -> None:
    assert [problem["code"] for problem in DOCUMENT["x-problems"]] == list(PROBLEMS)
    assert SCHEMAS["Problem"]["properties"]["code"]["enum"] == sorted(PROBLEMS)


def _codes(operation: dict[str, Any], status: str) -> list[str]:
    schema = operation["responses"][status]["content"]["application/problem+json"]["schema"]
    codes: list[str] = schema["allOf"][1]["properties"]["code"]["enum"]
    return codes


BODIES = [
    (operation.id, operation.body)
    for group in GROUPS
    for operation in group.operations
    if operation.body is not None and not isinstance(operation.body, FileBody)
]


@pytest.mark.parametrize(("name", "model"), BODIES)
def test_the_models_that_validate_requests_accept_the_examples(
    name: str, model: type[BaseModel]
) -> None:
    media = OPERATIONS[name]["requestBody"]["content"]["application/json"]
    examples = [one["value"] for one in media.get("examples", {}).values()]
    for example in examples or [media["example"]]:
        TypeAdapter(model).validate_python(example)


@pytest.mark.parametrize("definition", BUILTIN, ids=lambda item: item.job_type)
def test_the_example_of_a_job_type_has_parameters_that_it_accepts(
    definition: JobDefinition,
) -> None:
    media = OPERATIONS["createJob"]["requestBody"]["content"]["application/json"]
    request = JobRequest.model_validate(media["examples"][definition.job_type]["value"])
    definition.parameters.model_validate(request.parameters)
    assert request.job_type == definition.job_type
    assert request.target_type in definition.target_types


def test_a_quiz_request_is_described_with_its_limits() -> None:
    quiz = SCHEMAS["QuizGenerationRequest"]
    count = quiz["properties"]["questionCount"]
    assert (count["minimum"], count["maximum"], count["default"]) == (1, 50, 5)
    assert quiz["properties"]["jobType"]["const"] == "quiz_generation"
    assert quiz["properties"]["targetType"]["enum"] == ["knowledge_base"]
    assert quiz["required"] == ["jobType", "targetType", "targetId"]
    assert quiz["additionalProperties"] is False
    assert "answerText" in SCHEMAS["ActiveRecallRequest"]["required"]


@pytest.mark.parametrize(
    ("body", "fits"),
    [
        ({"questionCount": 50}, True),
        ({"questionCount": 51}, False),
        ({"cardCount": 5}, False),
        ({"targetType": "user"}, False),
        ({"jobType": "flashcard_generation"}, True),
        ({"jobType": "no_such_type"}, False),
    ],
)
def test_the_schema_of_a_job_request_tells_good_from_bad(body: dict[str, Any], fits: bool) -> None:
    target = {"targetType": "knowledge_base", "targetId": "0199d3a2-7c41-7a50-8f0e-3b5a86c1d2e4"}
    value = {"jobType": "quiz_generation", **target, **body}
    errors = _errors({"$ref": "#/components/schemas/JobRequest"}, value)
    assert (errors == []) is fits


def test_a_job_type_of_an_application_is_documented_like_the_built_in_ones() -> None:
    class EssayParameters(BaseModel):
        length: Annotated[int, Field(ge=100, description="In words.")] = 300

    class Essay(BaseModel):
        text: str

    essay = JobDefinition(
        job_type="essay_outline",
        label="Essay outline",
        description="The outline of an essay.",
        domain="generation",
        queue_name="ai-interactive",
        target_types=frozenset({"material"}),
        parameters=EssayParameters,
        output_model=Essay,
        max_output_tokens=1_000,
        prompt_key="essay_outline",
    )
    document = openapi_document(Registry([*BUILTIN, essay]))
    OpenAPIV31SpecValidator(document).validate()
    schemas = document["components"]["schemas"]
    assert schemas["EssayOutlineRequest"]["properties"]["length"] == {
        "type": "integer",
        "minimum": 100,
        "default": 300,
        "description": "In words.",
    }
    assert schemas["EssayOutlineOutput"]["required"] == ["text"]
    assert "essay_outline" in schemas["JobRequest"]["discriminator"]["mapping"]
    assert document["x-job-types"][-1]["targetTypes"] == ["material"]


def test_every_field_of_a_request_is_told_and_nothing_else() -> None:
    parameters = {
        alias(field, name)
        for definition in BUILTIN
        for name, field in definition.parameters.model_fields.items()
    }
    common = {alias(field, name) for name, field in JobRequest.model_fields.items()}
    assert set(REQUESTS["parameters"]) == parameters
    assert set(REQUESTS["JobRequest"]) == common
    for name in REQUESTS.keys() - {"parameters", "JobRequest"}:
        assert set(REQUESTS[name]) == set(SCHEMAS[name]["properties"]), name
    bodies = {name for name in SCHEMAS if name.endswith("Body")}
    assert bodies <= set(REQUESTS)


def alias(field: Any, name: str) -> str:
    """A field's name on the wire."""
    return field.alias or name
