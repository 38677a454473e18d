"""Every way of a provider to misbehave, as one fault after one call."""

from __future__ import annotations

import select
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from aijobs.engine.errors import ERRORS, ProviderFault
from aijobs.engine.gateway import OpenAIProvider
from aijobs.engine.gateway.faults import AnsweredFault
from tests.integration.engine.gateway.calls import REQUEST, a_cut, route_to
from tests.integration.engine.gateway.test_answers import COUNTED
from tests.scripted_provider import ScriptedProvider, unaccepting_server
from tests.scripted_provider.listeners import silent_server


def fault_of(
    provider: OpenAIProvider, server: ScriptedProvider | str, **route: bool
) -> ProviderFault:
    with pytest.raises(ProviderFault) as raised:
        provider.complete(route_to(server, **route), REQUEST, a_cut())
    return raised.value


@pytest.mark.parametrize(
    ("knob", "options", "code", "http_status"),
    [
        ("accept_then_reset", {}, "PROVIDER_TIMEOUT", None),
        ("accept_then_close", {}, "PROVIDER_TIMEOUT", None),
        ("half_body_content_length", {}, "PROVIDER_TIMEOUT", 200),
        ("half_body_chunked", {}, "PROVIDER_TIMEOUT", 200),
        ("half_body_unframed", {}, "PROVIDER_TIMEOUT", 200),
        ("mid_stream_cut", {}, "PROVIDER_TIMEOUT", 200),
        ("stream_without_end", {}, "PROVIDER_TIMEOUT", 200),
        ("gzipped", {"keep": 0.5}, "PROVIDER_TIMEOUT", 200),
        ("blank_body", {}, "PROVIDER_TIMEOUT", 200),
        ("empty_body", {}, "PROVIDER_TIMEOUT", 200),
        ("408", {}, "PROVIDER_TIMEOUT", 408),
        ("409", {}, "PROVIDER_TIMEOUT", 409),
        ("429", {}, "PROVIDER_RATE_LIMITED", 429),
        ("error_200", {}, "PROVIDER_RATE_LIMITED", 200),
        ("error_200", {"code": "unheard_of"}, "PROVIDER_UNAVAILABLE", 200),
        ("mid_stream_error", {}, "PROVIDER_UNAVAILABLE", 200),
        ("mid_stream_error", {"code": 429}, "PROVIDER_RATE_LIMITED", 200),
        ("choices_empty", {}, "PROVIDER_UNAVAILABLE", 200),
        ("html_200", {}, "PROVIDER_UNAVAILABLE", 200),
        ("text", {"body": "upstream error"}, "PROVIDER_UNAVAILABLE", 200),
        ("gzip_bomb", {}, "PROVIDER_UNAVAILABLE", 200),
        ("finish_reason", {"finish_reason": "aborted"}, "PROVIDER_UNAVAILABLE", 200),
        (
            "finish_reason",
            {"finish_reason": "insufficient_system_resource"},
            "PROVIDER_UNAVAILABLE",
            200,
        ),
        ("500", {}, "PROVIDER_UNAVAILABLE", 500),
        ("html_502", {"size": 2_000_000}, "PROVIDER_UNAVAILABLE", 502),
        ("503", {}, "PROVIDER_UNAVAILABLE", 503),
        ("504", {"seconds": 0.05}, "PROVIDER_UNAVAILABLE", 504),
        ("400", {}, "PROVIDER_BAD_REQUEST", 400),
        ("413", {}, "PROVIDER_BAD_REQUEST", 413),
        ("422", {}, "PROVIDER_BAD_REQUEST", 422),
        ("401", {}, "CREDENTIAL_INVALID", 401),
        ("403", {}, "CREDENTIAL_INVALID", 403),
        ("402", {}, "PROVIDER_ACCOUNT", 402),
        ("404_html", {}, "PROVIDER_ACCOUNT", 404),
        ("429_no_money", {}, "PROVIDER_ACCOUNT", 429),
        ("redirect_302", {}, "PROVIDER_ACCOUNT", 302),
        ("redirect_302", {"location": "http://[nonsense"}, "PROVIDER_ACCOUNT", 302),
        ("bad_model_400", {}, "PROVIDER_ACCOUNT", 400),
        ("risk_400", {}, "CONTENT_SAFETY_BLOCKED", 400),
        ("refusal", {}, "CONTENT_SAFETY_BLOCKED", 200),
        ("finish_reason", {"finish_reason": "content_filter"}, "CONTENT_SAFETY_BLOCKED", 200),
    ],
)
def test_one_call_one_fault(
    server: ScriptedProvider,
    provider: OpenAIProvider,
    knob: str,
    options: dict[str, Any],
    code: str,
    http_status: int | None,
) -> None:
    server.script(knob, **options)
    fault = fault_of(provider, server)
    assert (fault.code, fault.http_status, fault.retry_after) == (code, http_status, None)
    assert code in ERRORS and len(server.calls) == 1


def test_the_status_counts_even_if_its_body_never_comes(
    server: ScriptedProvider, provider: OpenAIProvider
) -> None:
    server.script("headers_then_silence", status=503)
    fault = fault_of(provider, server)
    assert (fault.code, fault.http_status) == ("PROVIDER_UNAVAILABLE", 503)


@pytest.mark.parametrize(
    ("header", "seconds"), [("7", 7.0), (7.5, 7.5), (86400, 900.0), ("abc", None)]
)
@pytest.mark.parametrize("knob", ["429", "503"])
def test_retry_after_as_seconds(
    server: ScriptedProvider,
    provider: OpenAIProvider,
    knob: str,
    header: object,
    seconds: float | None,
) -> None:
    server.script(knob, retry_after=header)
    assert fault_of(provider, server).retry_after == seconds


def test_retry_after_as_a_date(server: ScriptedProvider, provider: OpenAIProvider) -> None:
    then = datetime.now(UTC) + timedelta(seconds=300)
    server.script("429", retry_after=format_datetime(then, usegmt=True))
    asked = fault_of(provider, server).retry_after
    assert asked is not None and 200 < asked <= 300


def test_a_fault_of_an_answer_says_what_it_cost(
    server: ScriptedProvider, provider: OpenAIProvider
) -> None:
    server.script("refusal")
    fault = fault_of(provider, server)
    assert isinstance(fault, AnsweredFault) and fault.usage == COUNTED
    assert fault.response_model == "model-asked"


def test_nobody_listens(server: ScriptedProvider, provider: OpenAIProvider) -> None:
    with ScriptedProvider() as gone:
        url = gone.base_url
    fault = fault_of(provider, url)
    assert (fault.code, fault.http_status) == ("PROVIDER_TIMEOUT", None)


def test_nobody_accepts_in_time() -> None:
    with unaccepting_server() as url:
        provider = OpenAIProvider(connect_seconds=0.1)
        assert fault_of(provider, url).code == "PROVIDER_TIMEOUT"


def test_nobody_shakes_hands_in_time() -> None:
    with silent_server() as (address, _):
        provider = OpenAIProvider(connect_seconds=0.1)
        assert fault_of(provider, f"https://{address}").code == "PROVIDER_TIMEOUT"


def test_a_host_without_an_address(provider: OpenAIProvider) -> None:
    assert fault_of(provider, "http://no-such-host.invalid").code == "PROVIDER_TIMEOUT"


def test_a_certificate_that_nobody_vouches_for(
    tls_server: ScriptedProvider, provider: OpenAIProvider
) -> None:
    assert fault_of(provider, tls_server).code == "PROVIDER_TIMEOUT"
    assert tls_server.calls == []


def test_a_server_that_does_not_speak_tls(
    server: ScriptedProvider, provider: OpenAIProvider
) -> None:
    url = server.base_url.replace("http://", "https://")
    assert fault_of(provider, url).code == "PROVIDER_TIMEOUT"


def test_a_private_address_is_not_even_connected_to(provider: OpenAIProvider) -> None:
    with silent_server() as (address, listener):
        fault = fault_of(provider, f"http://{address}", public_only=True)
        assert fault.code == "PROVIDER_ACCOUNT"
        assert not select.select([listener], [], [], 0)[0]


def test_a_private_address_is_refused_where_it_must_be_public(
    server: ScriptedProvider, provider: OpenAIProvider
) -> None:
    assert fault_of(provider, server, public_only=True).code == "PROVIDER_ACCOUNT"
    provider.complete(route_to(server), REQUEST, a_cut())
    assert fault_of(provider, server, public_only=True).code == "PROVIDER_ACCOUNT"
    assert len(server.calls) == 1
