"""Server-sent events from bytes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aijobs.engine.gateway.event_stream import Event, EventStream

STREAM = (
    b": keep-alive\n\ndata: one\n\n\nevent: error\r\ndata:two\r\ndata:  three\r\n\r\n"
    b"id: 7\rretry: 9\rdata: four\r\rdata: [DONE]\n\n"
)
EVENTS = [
    Event((b"one",)),
    Event((b"two", b" three"), b"error"),
    Event((b"four",)),
    Event((b"[DONE]",)),
]


def events(*pieces: bytes) -> list[Event]:
    stream = EventStream()
    found = [event for piece in pieces for event in stream.feed(piece)]
    return [*found, *stream.rest()]


def test_comments_blank_lines_and_all_three_line_ends() -> None:
    assert events(STREAM) == EVENTS


@given(st.lists(st.integers(0, len(STREAM)), max_size=40))
def test_the_borders_of_network_reads_do_not_show(cuts: list[int]) -> None:
    borders = [0, *sorted(cuts), len(STREAM)]
    assert events(*(STREAM[a:b] for a, b in pairwise(borders))) == EVENTS


def test_a_line_end_may_come_in_two_reads_with_an_empty_one_between_them() -> None:
    assert events(b"data: one\r", b"", b"\ndata: two\n\n") == [Event((b"one", b"two"))]


def test_other_separators_of_unicode_are_text() -> None:
    line = "a\u2028b\u0085c\x0bd".encode()
    assert events(b"data: " + line + b"\n\n") == [Event((line,))]


def test_an_event_that_no_blank_line_closed_counts_at_the_end_of_the_body() -> None:
    assert events(b"data: one") == [Event((b"one",))]


def test_the_end_does_not_wait_for_a_blank_line() -> None:
    assert list(EventStream().feed(b"data: one\ndata: [DONE]\n")) == [
        Event((b"one",)),
        Event((b"[DONE]",)),
    ]


@pytest.mark.parametrize(
    ("body", "recognised"),
    [(b": \n", True), (b"data: x\n", True), (b"event: x\n", True), (b"upstream error: x\n", False)],
)
def test_a_stream_is_told_from_other_text(body: bytes, recognised: bool) -> None:
    stream = EventStream()
    list(stream.feed(body))
    assert stream.recognised is recognised
