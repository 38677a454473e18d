"""What may be kept of a text that came over the wire."""

from __future__ import annotations

import pytest

from aijobs.engine.gateway.redact import redact

KEY = "canary/0123456789+abc"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"Incorrect API key: {KEY}.", "Incorrect API key: [hidden]."),
        (f"code {KEY.lower()}/{KEY.upper()}", "code [hidden]/[hidden]"),
        ("Incorrect API key provided: sk-ab***89.", "Incorrect API key provided: [hidden]"),
        ("authorization: Bearer abc.def-123, x", "authorization: [hidden], x"),
        ('{"key":"sk-proj-1234567890"}', '{"key":"[hidden]"}'),
        ("GET https://me:secret@host/x", "GET https://[hidden]host/x"),
        ("jwt eyJhbGciOiJIUzI1.eyJzdWIi.c2ln", "jwt [hidden]"),
        ("two\nlines\tand\x00\x1b[31m", "two lines and [31m"),
        ("the risk-free task", "the risk-free task"),
    ],
)
def test_secrets_and_control_characters_are_taken_out(text: str, kept: str) -> None:
    assert redact(text, KEY) == kept


def test_a_key_at_the_edge_of_what_is_kept_is_taken_out_whole() -> None:
    text = "x" * 990 + KEY
    assert redact(text, KEY) == "x" * 990 + "[hidden]"


def test_what_is_kept_is_short() -> None:
    assert len(redact("x" * 100_000, KEY)) == 1000


def test_a_server_without_keys_has_nothing_to_hide() -> None:
    assert redact("text", "") == "text"
