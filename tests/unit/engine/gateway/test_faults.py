"""From statuses, codes and the messages of HTTP 400 to error classes."""

from __future__ import annotations

import json
import tomllib
from importlib.resources import files
from typing import Any

import pytest

from aijobs.engine.errors import ERRORS, ProviderFault
from aijobs.engine.gateway.error_body import error_of
from aijobs.engine.gateway.faults import status_fault
from aijobs.engine.gateway.known_errors import DATA_FILE
from tests.unit.engine.gateway.responses import ROUTE


def fault(status: int, body: Any = "") -> ProviderFault:
    text = body if isinstance(body, str) else json.dumps(body)
    return status_fault(status, error_of(text.encode()), ROUTE, None)


def message(text: str, code: Any = "invalid_request_error") -> dict[str, Any]:
    return {"error": {"message": text, "type": "invalid_request_error", "code": code}}


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (301, "PROVIDER_ACCOUNT"),
        (302, "PROVIDER_ACCOUNT"),
        (308, "PROVIDER_ACCOUNT"),
        (400, "PROVIDER_BAD_REQUEST"),
        (401, "CREDENTIAL_INVALID"),
        (402, "PROVIDER_ACCOUNT"),
        (403, "CREDENTIAL_INVALID"),
        (404, "PROVIDER_ACCOUNT"),
        (408, "PROVIDER_TIMEOUT"),
        (409, "PROVIDER_TIMEOUT"),
        (413, "PROVIDER_BAD_REQUEST"),
        (422, "PROVIDER_BAD_REQUEST"),
        (429, "PROVIDER_RATE_LIMITED"),
        (500, "PROVIDER_UNAVAILABLE"),
        (502, "PROVIDER_UNAVAILABLE"),
        (503, "PROVIDER_UNAVAILABLE"),
        (504, "PROVIDER_UNAVAILABLE"),
        (524, "PROVIDER_UNAVAILABLE"),
        (529, "PROVIDER_UNAVAILABLE"),
    ],
)
@pytest.mark.parametrize("body", ["", "<html>page</html>", message("Something"), "[]", "{}"])
def test_the_status_decides(status: int, code: str, body: Any) -> None:
    assert (fault(status, body).code, fault(status, body).http_status) == (code, status)


@pytest.mark.parametrize(
    "error",
    [
        {"message": "x", "code": "insufficient_quota"},
        {"message": "x", "type": "insufficient_quota", "code": None},
        {"message": "x", "type": "exceeded_current_quota_error"},
        {"message": "x", "type": "Exceeded_Current_Quota_Error"},
    ],
)
def test_a_429_whose_code_says_no_money_is_the_account(error: dict[str, Any]) -> None:
    assert fault(429, {"error": error}).code == "PROVIDER_ACCOUNT"


def test_a_429_whose_words_speak_of_money_is_still_a_rate_limit() -> None:
    assert fault(429, message("insufficient_quota")).code == "PROVIDER_RATE_LIMITED"


@pytest.mark.parametrize(
    "body",
    [
        message("Content Exists Risk"),
        message(" content exists risk\n"),
        {"detail": "Content Exists Risk"},
        {"error": "Content Exists Risk"},
        {"code": "invalid_request_error", "message": "Content Exists Risk", "type": "x"},
        message("x", code="content_policy_violation"),
    ],
)
def test_a_400_about_content_risk_is_blocked_content(body: Any) -> None:
    assert fault(400, body).code == "CONTENT_SAFETY_BLOCKED"


@pytest.mark.parametrize(
    "body",
    [
        message("Model Not Exist"),
        message("MODEL NOT EXIST"),
        message(
            "The supported API model names are deepseek-v4-pro or deepseek-v4-flash, "
            "but you passed asked-model."
        ),
        message("The model `asked-model` does not exist."),
        message("asked-model is not a valid model ID"),
        message("x", code="model_not_found"),
    ],
)
def test_a_400_about_the_model_is_the_account(body: Any) -> None:
    assert fault(400, body).code == "PROVIDER_ACCOUNT"


@pytest.mark.parametrize(
    "text",
    [
        "Cannot parse: 'Content Exists Risk'",
        "Content Exists Risk is what the user wrote",
        "Model Not Exist, he said",
        "The supported API model names are a or b, but you passed another-model.",
        "The model `another-model` does not exist.",
        "Prompt must contain the word 'json' in some form",
    ],
)
def test_a_400_that_only_quotes_such_words_is_a_bad_request(text: str) -> None:
    assert fault(400, message(text)).code == "PROVIDER_BAD_REQUEST"


@pytest.mark.parametrize("code", ["rate_limit_exceeded", "timeout", "context_length_exceeded"])
def test_a_400_is_never_retryable(code: str) -> None:
    assert fault(400, message("x", code)).code == "PROVIDER_BAD_REQUEST"


def test_words_count_for_400_alone() -> None:
    assert fault(422, message("Content Exists Risk")).code == "PROVIDER_BAD_REQUEST"
    assert fault(500, message("Model Not Exist")).code == "PROVIDER_UNAVAILABLE"


def test_the_detail_has_no_secret_and_no_input_that_a_validator_quotes() -> None:
    body = {"detail": [{"loc": ["body"], "msg": "too long", "input": "what the user wrote"}]}
    assert fault(422, body).detail == "HTTP 422: too long"
    assert ROUTE.api_key not in fault(401, message(f"bad key {ROUTE.api_key}")).detail


@pytest.mark.parametrize(
    "body",
    [b"\xff\xfe", b"[[[", b"[" * 60_000, b"null", b'{"error": [1]}', b'{"error": {"code": []}}'],
)
def test_any_error_body_is_classified(body: bytes) -> None:
    assert status_fault(500, error_of(body), ROUTE, 3.0).retry_after == 3.0


def test_the_data_file_names_classes_of_the_error_table() -> None:
    text = files("aijobs.engine.gateway").joinpath(DATA_FILE).read_text(encoding="utf-8")
    assert {name for table in tomllib.loads(text).values() for name in table} <= ERRORS.keys()
