"""The key of a call shows nowhere, whatever goes wrong with the call."""

from __future__ import annotations

import logging
import traceback

import pytest

from aijobs.engine.cut import CallCut, CutReason
from aijobs.engine.errors import ProviderFault
from aijobs.engine.gateway import OpenAIProvider
from tests.eventually import eventually
from tests.integration.engine.gateway.calls import KEY, REQUEST, Running, a_cut, route_to
from tests.scripted_provider import Exchange, ScriptedProvider
from tests.scripted_provider.knobs import Behaviour

ECHOES = f"Incorrect API key provided: {KEY}; Authorization: Bearer {KEY}"


def _echo_error(exchange: Exchange) -> None:
    exchange.respond(401, {"error": {"message": ECHOES, "code": KEY}})


def _echo_page(exchange: Exchange) -> None:
    exchange.respond(502, f"<html>{ECHOES}</html>", content_type="text/html")


def _echo_in_200(exchange: Exchange) -> None:
    exchange.respond(200, {"error": ECHOES}, headers={"X-Echo": ECHOES})


def _echo_in_stream(exchange: Exchange) -> None:
    exchange.begin()
    exchange.event({"error": {"message": ECHOES, "type": KEY}})
    exchange.end()


def _echo_garbage(exchange: Exchange) -> None:
    exchange.respond(200, '{"choices": ' + ECHOES)


def _echo_as_protocol(exchange: Exchange) -> None:
    exchange.send(f"{ECHOES}\r\n\r\n".encode())
    exchange.hang_up()


def _echo_then_cut(exchange: Exchange) -> None:
    exchange.begin()
    exchange.chunk(ECHOES)
    exchange.hang_up()


def _echo_location(exchange: Exchange) -> None:
    exchange.respond(302, ECHOES, headers={"Location": f"http://host/{KEY}"})


def _echo_then_silence(exchange: Exchange) -> None:
    exchange.begin()
    exchange.event({"choices": [{"delta": {"content": ECHOES}}]})
    exchange.hold()


@pytest.mark.parametrize(
    "behaviour",
    [
        _echo_error,
        _echo_page,
        _echo_in_200,
        _echo_in_stream,
        _echo_garbage,
        _echo_as_protocol,
        _echo_then_cut,
        _echo_location,
    ],
)
def test_the_key_is_in_no_exception_log_or_repr(
    server: ScriptedProvider,
    provider: OpenAIProvider,
    caplog: pytest.LogCaptureFixture,
    behaviour: Behaviour,
) -> None:
    caplog.set_level(logging.DEBUG)
    server.script(behaviour)
    with pytest.raises(ProviderFault) as raised:
        provider.complete(route_to(server), REQUEST, a_cut())
    assert server.calls
    assert KEY not in _shown(raised.value, caplog)


def test_the_key_is_not_in_what_a_cut_leaves(
    server: ScriptedProvider, provider: OpenAIProvider, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.script(_echo_then_silence)
    running = Running(provider, route_to(server))
    eventually(lambda: server.calls)
    running.cut.cut(CutReason.CANCELLED)
    outcome = running.outcome()
    assert isinstance(outcome, CallCut)
    assert KEY not in _shown(outcome, caplog)


def test_the_key_is_in_no_repr(server: ScriptedProvider, provider: OpenAIProvider) -> None:
    assert KEY not in repr((route_to(server), provider, vars(provider)))


def _shown(error: BaseException, caplog: pytest.LogCaptureFixture) -> str:
    """Everything that an exception and the log show."""
    texts = [
        *map(_everything_of, _chain(error)),
        *traceback.format_exception(error),
        *(record.getMessage() for record in caplog.records),
    ]
    return "\n".join(texts)


def _chain(error: BaseException) -> list[BaseException]:
    """An exception and those that led to it."""
    inner = [error.__cause__, error.__context__]
    return [error, *(found for one in inner if one is not None for found in _chain(one))]


def _everything_of(error: BaseException) -> str:
    return f"{error!r} {error} {error.args} {vars(error)}"
