"""Waiting for something that another process does: the only place of the tests that sleeps."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_POLL_SECONDS = 0.02


def eventually(condition: Callable[[], T], timeout: float = 10) -> T:
    """What `condition` returns, once that is true. Its AssertionErrors count as not yet.

    Fails with the last of them, or with the last value, when `timeout` seconds are over.
    """
    give_up_at = time.monotonic() + timeout
    while True:
        try:
            value = condition()
            if value:
                return value
            failure = AssertionError(f"still {value!r} after {timeout:g} s")
        except AssertionError as error:
            failure = error
        if time.monotonic() >= give_up_at:
            raise failure
        time.sleep(_POLL_SECONDS)
