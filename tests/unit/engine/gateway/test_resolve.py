"""Which addresses belong to the open internet."""

from __future__ import annotations

import pytest

from aijobs.engine.gateway.resolve import is_public


@pytest.mark.parametrize("host", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "64:ff9b::808:808"])
def test_public(host: str) -> None:
    assert is_public(host)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::1%eth0",
        "fd00::1",
        "ff02::1",
        "::ffff:10.0.0.1",
        "::ffff:127.0.0.1",
        "2002:7f00:1::",
        "64:ff9b::a00:1",
        "64:ff9b:1::7f00:1",
        "::127.0.0.1",
        "::ffff:0:10.0.0.1",
        "fec0::1",
        "5f00::1",
    ],
)
def test_not_public(host: str) -> None:
    assert not is_public(host)
