"""Each fault of a provider through a whole attempt: class, edge, cost and sentences."""

from __future__ import annotations

import datetime as dt
import re
from email.utils import format_datetime
from typing import Any
from urllib.parse import urlsplit

import pytest
import redis
import structlog

from aijobs.engine.chat import ChatRequest, Reply, Route
from aijobs.engine.cut import Cut
from aijobs.engine.errors import ERRORS
from aijobs.engine.gateway import OpenAIProvider
from aijobs.models import database as db
from aijobs.models.circuit import CircuitRules, probe_due
from aijobs.models.tables import AiJob
from tests.integration.engine.seen import forget_circuits, rows
from tests.integration.engine.wire import (
    COSTS,
    KEY,
    TOLD,
    attempt,
    books,
    bound,
    causes,
    dearest,
    over_the_wire,
    route_to,
    tokens,
)
from tests.integration.http.caller import caller
from tests.scripted_provider import ScriptedProvider, unaccepting_server
from tests.world import World, whole_database

#: What a provider may say, and nobody may read or keep.
SECRETS = (
    f"wrong key {KEY}",
    "Bearer abcdef0123456789",
    "sk-live-0123456789abcdef",
    "https://me:pa55word@proxy.internal/x",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dBjftJeZ4CVP",
)
HIDDEN = (KEY, "abcdef0123456789", "0123456789abcdef", "pa55word", "eyJzdWIiOiIxIn0")

NOTHING, AS_TOLD, AT_THE_BOUND = "nothing", "as told", "at the bound"
RETRY, HAND_BACK, FAIL = "release_for_retry", "hand_back:circuit", "fail"


def case(
    knob: str,
    code: str,
    edge: str,
    status: int | None,
    counted: str = AT_THE_BOUND,
    **options: Any,
) -> Any:
    """A knob, its options, the class, the edge, the status in the books and what they count."""
    return knob, options, code, edge, status, counted


WIRE_FAULTS = [
    case("accept_then_reset", "PROVIDER_TIMEOUT", RETRY, None),
    case("accept_then_close", "PROVIDER_TIMEOUT", RETRY, None),
    case("half_body_content_length", "PROVIDER_TIMEOUT", RETRY, 200),
    case("half_body_chunked", "PROVIDER_TIMEOUT", RETRY, 200),
    case("half_body_unframed", "PROVIDER_TIMEOUT", RETRY, 200),
    case("mid_stream_cut", "PROVIDER_TIMEOUT", RETRY, 200),
    case("stream_without_end", "PROVIDER_TIMEOUT", RETRY, 200),
    case("blank_body", "PROVIDER_TIMEOUT", RETRY, 200),
    case("408", "PROVIDER_TIMEOUT", RETRY, 408, NOTHING),
    case("409", "PROVIDER_TIMEOUT", RETRY, 409, NOTHING),
    case("429", "PROVIDER_RATE_LIMITED", RETRY, 429, NOTHING),
    case("error_200", "PROVIDER_RATE_LIMITED", RETRY, 200),
    case("mid_stream_error", "PROVIDER_UNAVAILABLE", RETRY, 200),
    case("choices_empty", "PROVIDER_UNAVAILABLE", RETRY, 200, AS_TOLD),
    case("html_200", "PROVIDER_UNAVAILABLE", RETRY, 200),
    case("gzip_bomb", "PROVIDER_UNAVAILABLE", RETRY, 200),
    case("500", "PROVIDER_UNAVAILABLE", RETRY, 500, NOTHING),
    case("html_502", "PROVIDER_UNAVAILABLE", RETRY, 502, NOTHING, size=2_000_000),
    case("503", "PROVIDER_UNAVAILABLE", RETRY, 503, NOTHING),
    case("504", "PROVIDER_UNAVAILABLE", RETRY, 504, NOTHING, seconds=0.05),
    case("finish_reason", "PROVIDER_UNAVAILABLE", RETRY, 200, AS_TOLD, finish_reason="aborted"),
    case(
        "finish_reason",
        "PROVIDER_UNAVAILABLE",
        RETRY,
        200,
        AS_TOLD,
        finish_reason="insufficient_system_resource",
    ),
    case("400", "PROVIDER_BAD_REQUEST", FAIL, 400, NOTHING),
    case("413", "PROVIDER_BAD_REQUEST", FAIL, 413, NOTHING),
    case("422", "PROVIDER_BAD_REQUEST", FAIL, 422, NOTHING),
    case("risk_400", "CONTENT_SAFETY_BLOCKED", FAIL, 400, NOTHING),
    case("refusal", "CONTENT_SAFETY_BLOCKED", FAIL, 200, AS_TOLD),
    case(
        "finish_reason",
        "CONTENT_SAFETY_BLOCKED",
        FAIL,
        200,
        AS_TOLD,
        finish_reason="content_filter",
    ),
    case("401", "CREDENTIAL_INVALID", HAND_BACK, 401, NOTHING),
    case("403", "CREDENTIAL_INVALID", HAND_BACK, 403, NOTHING),
    case("402", "PROVIDER_ACCOUNT", HAND_BACK, 402, NOTHING),
    case("404_html", "PROVIDER_ACCOUNT", HAND_BACK, 404, NOTHING),
    case("429_no_money", "PROVIDER_ACCOUNT", HAND_BACK, 429, NOTHING),
    case("bad_model_400", "PROVIDER_ACCOUNT", HAND_BACK, 400, NOTHING),
    case("redirect_302", "PROVIDER_ACCOUNT", HAND_BACK, 302, NOTHING),
]


#: knob -> what an operator reads of it, in the job or, for one that is handed back, in the log.
TOLD_OPERATORS = {
    "accept_then_reset": "ConnectionResetError: ",
    "accept_then_close": "Server disconnected without sending a response",
    "half_body_content_length": "peer closed connection without sending complete message body",
    "half_body_chunked": "peer closed connection without sending complete message body",
    "half_body_unframed": "the answer ended early",
    "mid_stream_cut": "peer closed connection without sending complete message body",
    "stream_without_end": "the stream ended before the answer did",
    "blank_body": "the answer is blank",
    "error_200": "HTTP 200 with an error rate_limit_daily/scripted_error: scripted",
    "mid_stream_error": "HTTP 200 with an error server_error/error: upstream failed",
    "choices_empty": "the answer has no choices",
    "html_200": "a page instead of an answer",
    "gzip_bomb": "the body is larger than 4194304 bytes",
    "html_502": "HTTP 502: <html><head><title>502 from a gateway</title>",
    "404_html": "HTTP 404: <html><head><title>404 from a gateway</title>",
    "413": "HTTP 413: <html>",
    "422": "HTTP 422 scripted_error/scripted_error: Failed to deserialize the JSON body",
    "429_no_money": "HTTP 429 insufficient_quota/scripted_error: scripted",
    "402": "HTTP 402 unknown_error/scripted_error: Insufficient Balance",
    "risk_400": "HTTP 400 invalid_request_error/scripted_error: Content Exists Risk",
    "bad_model_400": "HTTP 400 invalid_request_error/scripted_error: Model Not Exist",
    "redirect_302": "HTTP 302: nothing more was said",
    "refusal": "the model refused",
}


def test_a_fault_of_the_wire_is_one_call_and_takes_its_edge(
    wired: World, server: ScriptedProvider, subtests: pytest.Subtests
) -> None:
    for knob, options, *expected in WIRE_FAULTS:
        with subtests.test(knob=knob, **options):
            forget_circuits()
            _assert_wire_fault(wired, server, knob, options, *expected)


def _assert_wire_fault(
    wired: World,
    server: ScriptedProvider,
    knob: str,
    options: dict[str, Any],
    code: str,
    edge: str,
    status: int | None,
    counted: str,
) -> None:
    server.calls.clear()
    server.script(knob, **options)
    with structlog.testing.capture_logs() as logs:
        job = attempt(wired, wired.create())
    assert_edge(job, code, edge)
    assert_told(job, code, edge, logs, _told_operators(knob, options))
    (call,), (row,) = server.calls, books(job.id)
    assert (row.state, row.success, row.error_code) == ("failed", False, code)
    assert (row.http_status, row.call_no, row.attempt_no) == (status, 1, 1)
    if counted == AS_TOLD:
        assert (row.input_tokens, row.cached_tokens, row.output_tokens) == TOLD
        assert (row.estimated, row.cost_micro_usd in COSTS) == (False, True)
    elif counted == NOTHING:
        assert (*tokens(row), row.cost_micro_usd) == (0, 0, False, 0)
    else:
        assert (*tokens(row), row.cost_micro_usd) == (*bound(call), True, dearest(call))


def _told_operators(knob: str, options: dict[str, Any]) -> str:
    said = options.get("finish_reason", knob)
    return TOLD_OPERATORS.get(knob, f"finish_reason {said}" if said != knob else f"HTTP {knob}")


def assert_told(job: AiJob, code: str, edge: str, logs: list[Any], operators: str) -> None:
    told = "route_failed" if edge == HAND_BACK else "attempt_failed"
    (ended,) = [line for line in logs if line["event"] == told]
    assert ended["error_code"] == code and operators in ended["detail"]
    if edge == HAND_BACK:
        assert (job.public_error_message, job.internal_error_message) == (None, None)
    else:
        assert job.public_error_message == ERRORS[code].en
        assert job.internal_error_message == ended["detail"]


def assert_edge(job: AiJob, code: str, edge: str) -> None:
    assert causes(job.id)[-1] == edge
    if edge == HAND_BACK:  # the job is not at fault: no retry counted, no error of its own
        assert (job.lifecycle_status, job.retry_count, job.error_code) == ("queued", 0, None)
        (circuit,) = rows("SELECT state, cause, epoch FROM platform_circuit")
        assert circuit == {"state": "open", "cause": code, "epoch": 1}
        return
    expected = ("queued", 1) if edge == RETRY else ("failed", 0)
    assert (job.lifecycle_status, job.retry_count, job.error_code) == (*expected, code)
    assert job.internal_error_message and len(job.internal_error_message.encode()) <= 4096


ANSWER_FAULTS = [
    case("spaces_content", "OUTPUT_EMPTY", FAIL, 200),
    case("finish_reason", "OUTPUT_INVALID_JSON", FAIL, 200, finish_reason="tool_calls"),
    case("finish_reason", "OUTPUT_INVALID_JSON", FAIL, 200, finish_reason="unheard_of"),
    case("ok", "OUTPUT_INVALID_JSON", FAIL, 200, text="I would rather not."),
    case("ok", "SCHEMA_VALIDATION_FAILED", FAIL, 200, text='{"questions": []}'),
    case("content_null_reasoning", "OUTPUT_TRUNCATED", FAIL, 200),
    case("finish_reason", "OUTPUT_TRUNCATED", FAIL, 200, finish_reason="length"),
]


def test_an_answer_that_cannot_be_used_is_asked_for_once_more_and_paid_twice(
    wired: World, server: ScriptedProvider, subtests: pytest.Subtests
) -> None:
    for knob, options, *expected in ANSWER_FAULTS:
        with subtests.test(knob=knob, **options):
            forget_circuits()
            _assert_answer_fault(wired, server, knob, options, *expected)


def _assert_answer_fault(
    wired: World,
    server: ScriptedProvider,
    knob: str,
    options: dict[str, Any],
    code: str,
    edge: str,
    status: int,
    counted: str,
) -> None:
    server.calls.clear()
    server.script(knob, **options)
    job = attempt(wired, wired.create())
    assert_edge(job, code, edge)
    rows = books(job.id)
    assert [(row.state, row.error_code, row.http_status) for row in rows] == [
        ("completed", code, status)
    ] * 2
    assert [(row.input_tokens, row.cached_tokens, row.output_tokens) for row in rows] == [TOLD] * 2
    assert all(row.cost_micro_usd in COSTS for row in rows)
    limits = [call.body["max_tokens"] for call in server.calls]
    assert limits[1] == limits[0] * (2 if code == "OUTPUT_TRUNCATED" else 1)


#: The last one spoils its connection for the next call, which is then none of this test's.
ODD_ANSWERS = {
    "other_model": TOLD,
    "finish_reason_missing": TOLD,
    "usage_zero": (0, None, 0),
    "usage_missing": None,
    "usage_null": None,
    "usage_negative": None,
    "usage_huge": None,
    "ok_twice": TOLD,
}


def test_an_odd_answer_is_an_answer(
    wired: World, server: ScriptedProvider, subtests: pytest.Subtests
) -> None:
    for knob, counted in ODD_ANSWERS.items():
        with subtests.test(knob=knob):
            forget_circuits()
            server.calls.clear()
            server.script(knob)
            job = attempt(wired, wired.create())
            assert (job.lifecycle_status, job.error_code) == ("succeeded", None)
            (call,), (row,) = server.calls, books(job.id)
            assert (row.state, row.success) == ("completed", True)
            model = "another-model" if knob == "other_model" else "deepseek-flash"
            assert row.response_model == model
            if counted is None:
                assert (*tokens(row), row.cost_micro_usd) == (*bound(call), True, dearest(call))
            else:
                assert (row.input_tokens, row.cached_tokens, row.output_tokens) == counted
                assert row.cost_micro_usd in ((0,) if counted[0] == 0 else COSTS)


SILENT = (
    "silence",
    "headers_then_silence",
    "keep_alive_blank_lines",
    "keep_alive_comments",
    "mid_stream_silence",
)


def test_when_the_time_is_up_the_call_ends_and_a_retry_is_counted(
    wired: World, server: ScriptedProvider, subtests: pytest.Subtests
) -> None:
    for knob in SILENT:
        with subtests.test(knob=knob):
            forget_circuits()
            server.calls.clear()
            server.script(knob)
            job = attempt(wired, wired.create(), seconds=0.5)
            assert_edge(job, "JOB_TIMEOUT", RETRY)
            (call,), (row,) = server.calls, books(job.id)
            assert call.peer_closed.wait(30)
            assert (row.state, row.success, row.error_code) == ("cut", False, None)
            assert (*tokens(row), row.cost_micro_usd) == (*bound(call), True, dearest(call))


def test_a_provider_that_nobody_reaches(here: World) -> None:
    gateway = OpenAIProvider(0.2)
    with unaccepting_server() as url:
        wired = over_the_wire(here, gateway, route_to(url))
        job = attempt(wired, wired.create())
    gateway.close()
    assert_edge(job, "PROVIDER_TIMEOUT", RETRY)
    (row,) = books(job.id)
    assert (row.state, row.http_status, row.estimated) == ("failed", None, True)


def _then(seconds: float) -> str:
    return format_datetime(dt.datetime.now(dt.UTC) + dt.timedelta(seconds=seconds), usegmt=True)


def test_the_retry_waits_as_long_as_the_provider_asked(
    wired: World, server: ScriptedProvider, subtests: pytest.Subtests
) -> None:
    """What it asked is believed up to 15 minutes; else the first backoff is 2 seconds at most."""
    asked = [("7", 7, 7), (_then(300), 200, 300), ("86400", 900, 900), ("abc", 0, 2), (None, 0, 2)]
    for knob in ("429", "503"):
        for header, least, most in asked:
            with subtests.test(knob=knob, header=header):
                server.script(knob, retry_after=header)
                job, before = wired.create(), _now()
                job = attempt(wired, job)
                assert job.retry_count == 1
                assert before + dt.timedelta(seconds=least) <= job.available_at
                assert job.available_at <= _now() + dt.timedelta(seconds=most)


def _now() -> dt.datetime:
    moment: dt.datetime = db.read(lambda: db.rows("SELECT now() AS now"))[0]["now"]
    return moment


def test_a_fault_that_stays_fails_the_job_after_three_retries(
    wired: World, server: ScriptedProvider
) -> None:
    server.script("503")
    job = wired.create()
    for _ in range(4):
        attempt(wired, job)
    job = wired.job(job.id)
    assert (job.lifecycle_status, job.retry_count) == ("failed", 3)
    assert job.error_code == "PROVIDER_UNAVAILABLE"
    assert [row.attempt_no for row in books(job.id)] == [1, 2, 3, 4]
    assert len(server.calls) == 4


def test_an_account_that_is_put_in_order_costs_the_job_nothing(
    wired: World, server: ScriptedProvider
) -> None:
    for knob in ("402", "401", "bad_model_400", "404_html", "402"):
        server.enqueue(knob)
    job = wired.create()
    for _ in range(6):
        rows("UPDATE platform_circuit SET next_probe_at = now()")
        probe_due("test", CircuitRules())
        job = attempt(wired, job)
    assert (job.lifecycle_status, job.retry_count, job.hand_back_count) == ("succeeded", 0, 0)


SPEAKING: list[tuple[str, dict[str, Any]]] = [
    ("status", {"status": 400, "code": "invalid_request_error"}),
    ("status", {"status": 422}),
    ("status", {"status": 500}),
    ("status", {"status": 429}),
    ("status", {"status": 200, "code": "unheard_of"}),
    ("text", {"status": 503, "body": " ".join(SECRETS) * 500}),
    ("text", {"status": 413, "body": "<html>" + " ".join(SECRETS)}),
]


def test_what_the_provider_said_reaches_the_operator_without_secrets_and_never_the_user(
    wired: World, server: ScriptedProvider, redis_url: str, subtests: pytest.Subtests
) -> None:
    port = str(urlsplit(server.base_url).port)
    leaks = ("127.0.0.1", port, "http", "/", "wrong key", "scripted", "proxy", *HIDDEN)
    for knob, options in SPEAKING:
        with subtests.test(knob=knob, **options):
            forget_circuits()
            said = {"message": " ".join(SECRETS)} if knob == "status" else {}
            server.script(knob, **options, **said)
            job = _to_its_end(wired)
            assert job.lifecycle_status == "failed" and job.error_code
            told = job.internal_error_message
            assert told and "wrong key" in told and len(told.encode()) <= 4096
            for sentence in _sentences(wired, job, redis_url):
                assert [leak for leak in leaks if leak in sentence.lower()] == []
    everything = str(whole_database())
    assert [secret for secret in HIDDEN if secret in everything] == []


#: knob -> what a user reads, as the error table of the product has it in both languages.
READ = {
    "tool_calls": ("The AI's answer could not be read.", "无法读取 AI 的回答。"),
    "no_questions": (
        "The AI's answer did not have the expected form.",
        "AI 的回答格式不符合要求。",
    ),
    "silence": ("The job took too long.", "任务执行超时。"),
    "400": ("The AI service refused the request.", "AI 服务拒绝了该请求。"),
    "503": ("The AI service is unavailable.", "AI 服务暂时不可用。"),
    "429": ("The AI service is busy.", "AI 服务繁忙，请稍后再试。"),
    "accept_then_reset": ("The AI service did not answer in time.", "AI 服务未及时响应。"),
    "risk_400": ("The content was blocked by a safety check.", "内容未通过安全检查。"),
    "spaces_content": ("The AI gave no answer.", "AI 没有给出内容。"),
    "content_null_reasoning": (
        "The answer was too long. Ask for fewer items.",
        "生成的内容过长，请减少数量后重试。",
    ),
}


SPECIAL: dict[str, tuple[str, dict[str, Any]]] = {
    "tool_calls": ("finish_reason", {"finish_reason": "tool_calls"}),
    "no_questions": ("ok", {"text": '{"questions": []}'}),
}


def test_the_user_reads_a_sentence_in_their_language(
    wired: World, server: ScriptedProvider, redis_url: str, subtests: pytest.Subtests
) -> None:
    for knob, sentences in READ.items():
        with subtests.test(knob=knob):
            forget_circuits()
            name, options = SPECIAL.get(knob, (knob, {}))
            server.script(name, **options)
            job = _to_its_end(wired, seconds=0.3 if knob == "silence" else None)
            assert _sentences(wired, job, redis_url) == sentences


def _to_its_end(wired: World, seconds: float | None = None) -> AiJob:
    job = wired.create()
    while job.lifecycle_status == "queued":
        job = attempt(wired, job, seconds=seconds)
    return job


def _sentences(wired: World, job: AiJob, redis_url: str) -> tuple[str, str]:
    """The error of a job as GET answers it, in English and in Chinese."""
    with redis.Redis.from_url(redis_url) as client:
        me = caller(wired, wired.user_id, client)
        answers = [
            me.client.simulate_get(
                f"/api/ai/jobs/{job.id}",
                headers={"Authorization": f"Bearer {me.token}", "Accept-Language": language},
            )
            for language in ("en-GB", "zh-CN,zh;q=0.9")
        ]
    assert all(answer.json["errorCode"] == job.error_code for answer in answers)
    english, chinese = (answer.json["publicErrorMessage"] for answer in answers)
    assert re.search("[\u4e00-\u9fff]", chinese) and english.isascii()
    return english, chinese


class _Broken:
    """A provider with a bug, whose message holds what no column and nobody should."""

    def complete(self, route: Route, request: ChatRequest, cut: Cut) -> Reply:
        raise RuntimeError(f"boom \x00 \ud800 {' '.join(SECRETS)} " + "é" * 5000)


def test_a_bug_is_retried_once_and_its_message_can_be_stored_and_holds_no_secret(
    here: World,
) -> None:
    broken = here.with_provider(_Broken(), route_to("http://unused.invalid"))
    job = broken.create()
    job = attempt(broken, job)
    assert_edge(job, "INTERNAL_ERROR", RETRY)
    assert "RuntimeError: boom" in str(job.internal_error_message)
    job = attempt(broken, job)
    assert (job.lifecycle_status, job.error_code) == ("failed", "INTERNAL_ERROR")
    everything = str(whole_database())
    assert [secret for secret in HIDDEN if secret in everything] == []
