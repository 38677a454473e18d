"""Problems: one body for whatever goes wrong, in the reader's language."""

from __future__ import annotations

from typing import Any

import falcon
import falcon.testing
import pytest

from aijobs.engine.refusal import FieldFault, Refused
from aijobs.engine.sentence import Sentence
from aijobs.http.broken_json import place_in
from aijobs.http.problems import PROBLEMS, handle_all, speaks_chinese
from aijobs.http.tokens import InvalidToken
from aijobs.models.errors import DatabaseAway

#: Code -> HTTP status (contract: api.md, User error codes).
STATUSES = {
    **dict.fromkeys(
        ("INVALID_REQUEST", "INVALID_JOB_TYPE", "INVALID_TARGET_TYPE", "CREDENTIAL_REQUIRED"), 400
    ),
    "UNAUTHENTICATED": 401,
    "FORBIDDEN": 403,
    **dict.fromkeys(("JOB_NOT_FOUND", "TARGET_NOT_FOUND", "NOT_FOUND"), 404),
    **dict.fromkeys(
        (
            *("JOB_NOT_CANCELLABLE", "JOB_ALREADY_CANCELLED", "JOB_NOT_FINISHED"),
            "IDEMPOTENCY_KEY_REUSED",
        ),
        409,
    ),
    "PAYLOAD_TOO_LARGE": 413,
    "INTERNAL_ERROR": 500,
    "PLATFORM_UNAVAILABLE": 503,
}


@pytest.mark.parametrize("code", PROBLEMS)
def test_a_problem_has_a_title_in_both_languages(code: str) -> None:
    problem = PROBLEMS[code]
    assert problem.en.isascii() and not problem.zh.isascii()
    assert 400 <= problem.status < 600
    assert problem.retryable is (problem.status >= 500 or problem.status == 429)


def test_codes_have_the_contracts_statuses() -> None:
    assert {code: PROBLEMS[code].status for code in STATUSES} == STATUSES


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, False),
        ("", False),
        ("zh", True),
        ("ZH-Hans-CN", True),
        ("en", False),
        ("en, zh", False),
        ("zh, en", True),
        ("en;q=0.5, zh;q=0.6", True),
        ("en;q=0.9, zh; q=0.1", False),
        ("en ; q = 0.1, zh ; q = 0.9", True),
        ("zh;q=0", False),
        ("zh;q=0, en", False),
        ("fr, de;q=0.9, zh-TW;q=0.1", True),
        ("fr, de", False),
        ("*", False),
        ("zh;q=0.1, zh-CN, en;q=0.5", True),
        ("zh;q=nan, en;q=1", False),
        ("zh;q=x", False),
        ("zh;q=2, en;q=0.1", False),
        ("zha, enm", False),
        (";;;q=,,", False),
        ("zh;level=1", True),
    ],
)
def test_the_first_of_our_languages_is_spoken(header: str | None, expected: bool) -> None:
    headers = {} if header is None else {"Accept-Language": header}
    req = falcon.testing.create_req(headers=headers)
    assert speaks_chinese(req) is expected


class _Raising:
    def __init__(self, error: Exception) -> None:
        self._error = error

    def on_get(self, req: Any, resp: Any) -> None:
        raise self._error


def _answer(error: Exception) -> falcon.testing.Result:
    app: falcon.App[Any, Any] = falcon.App()
    handle_all(app)
    app.add_route("/", _Raising(error))
    return falcon.testing.TestClient(app).simulate_get("/")


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (falcon.HTTPBadRequest(description="d"), 400, "INVALID_REQUEST"),
        (falcon.HTTPForbidden(), 403, "FORBIDDEN"),
        (falcon.HTTPContentTooLarge(), 413, "PAYLOAD_TOO_LARGE"),
        (falcon.HTTPUriTooLong(), 400, "INVALID_REQUEST"),
        (falcon.HTTPBadGateway(), 500, "INTERNAL_ERROR"),
        (falcon.HTTPServiceUnavailable(), 503, "PLATFORM_UNAVAILABLE"),
        (Refused("JOB_NOT_FINISHED", Sentence("d")), 409, "JOB_NOT_FINISHED"),
        (InvalidToken("secret reason"), 401, "UNAUTHENTICATED"),
        (DatabaseAway("host 10.0.0.1"), 503, "PLATFORM_UNAVAILABLE"),
    ],
)
def test_whatever_is_raised_becomes_a_problem(error: Exception, status: int, code: str) -> None:
    answer = _answer(error)
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert (answer.status_code, answer.json["status"], answer.json["code"]) == (
        status,
        status,
        code,
    )
    assert answer.json["type"] == f"urn:aijobs:problem:{code.lower()}"
    assert "secret reason" not in answer.text and "10.0.0.1" not in answer.text


def test_headers_of_an_error_are_kept() -> None:
    answer = _answer(falcon.HTTPMethodNotAllowed(["GET", "PUT"]))
    assert answer.headers["Allow"] == "GET, PUT"
    assert _answer(DatabaseAway("")).headers["Retry-After"] == "2"
    assert _answer(InvalidToken("")).headers["WWW-Authenticate"] == "Bearer"


def test_faults_of_fields_are_listed() -> None:
    faults = (FieldFault("a.0", Sentence("must be b")), FieldFault("c", Sentence("is missing")))
    assert _answer(Refused("INVALID_REQUEST", Sentence("d"), errors=faults)).json["errors"] == [
        {"field": "a.0", "message": "must be b"},
        {"field": "c", "message": "is missing"},
    ]
    assert "errors" not in _answer(Refused("INVALID_REQUEST", Sentence("d"))).json


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("NaN", "body"),
        ('{"a": Infinity}', "a"),
        ('{"a": {"b": [1, -' + "9" * 5000 + "]}}", "a.b.1"),
        ('{"a": [{"b": "\\u0000"}]}', "a.0.b"),
        ('{"a": 1, "b": "\\ud800", "c": NaN}', "b"),
        ('{"x\\udfff": 1}', "body"),
        ('{"": NaN}', "body"),
        ('{"a": 1, "a": 2}', "body"),
        ("[" * 20_000, "body"),
        ("{", "body"),
    ],
)
def test_the_place_of_a_value_that_is_refused_is_found(text: str, place: str) -> None:
    assert place_in(text) == place
