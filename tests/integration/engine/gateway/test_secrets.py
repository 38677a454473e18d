"""The key of a call shows nowhere, whatever goes wrong with the call."""

from __future__ import annotations

import logging
import traceback

import pytest

from aijobs.engine.cut import CallCut
from aijobs.engine.errors import ProviderFault
from aijobs.engine.gateway import OpenAIProvider
from tests.integration.engine.gateway.calls import KEY, REQUEST, a_cut, route_to
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
        _echo_then_silence,
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
    route = route_to(server)
    with pytest.raises((ProviderFault, CallCut)) as raised:
        provider.complete(route, REQUEST, a_cut(0.3))
    shown = [
        repr(route),
        repr(provider),
        *map(_everything_of, _chain(raised.value)),
        "".join(traceback.format_exception(raised.value)),
        *(record.getMessage() for record in caplog.records),
    ]
    assert server.calls
    assert not [text for text in shown if KEY in text]


def _chain(error: BaseException) -> list[BaseException]:
    """An exception and those that led to it."""
    inner = [error.__cause__, error.__context__]
    return [error, *(found for one in inner if one is not None for found in _chain(one))]


def _everything_of(error: BaseException) -> str:
    return f"{error!r} {error} {error.args} {vars(error)}"
