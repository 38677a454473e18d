"""Named crash points: no-ops in production, at which a test waits, counts, or kills its process.

One stands before and after every commit and every external send; `POINTS` is their whole list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Named transactions. Each has `.before_commit` and `.after_commit`.
COMMITS = (
    "create",
    "claim",
    "begin",
    "call_started",
    "call_finished",
    "execute",
    "project",
    "fail",
    "release_for_retry",
    "hand_back",
    "cancel",
    "request_cancel",
    "confirm_cancel",
    "reject",
    "reap",
    "snapshot",
    "complete",
    "relay_claim",
    "relay_publish",
    "relay_return",
    "relay_release",
    "sweep",
    "heartbeat",
    "pass",
    "pass_failed",
    "learner",
    "settings",
    "circuit",
    "circuit_wake",
    "credential",
    "purge",
)
#: External sends. Each has `.before_send` and `.after_send`.
SENDS = ("provider_call", "relay_message", "relay_hint", "cancel_hint")

POINTS = frozenset(
    [f"{name}.{side}_commit" for name in COMMITS for side in ("before", "after")]
    + [f"{name}.{side}_send" for name in SENDS for side in ("before", "after")]
)


def _nothing(point: str) -> None:
    """Production: a probe costs one call."""


_hook: Callable[[str], None] = _nothing


def probe(point: str) -> None:
    """Tell the hook that this point is reached."""
    _hook(point)


@contextmanager
def sending(name: str) -> Iterator[None]:
    """An external send: probed on both sides, also when it fails, since something may have left."""
    probe(f"{name}.before_send")
    try:
        yield
    finally:
        probe(f"{name}.after_send")


def install(hook: Callable[[str], None] | None) -> None:
    """Set what every probe calls (tests only); None takes it away."""
    global _hook
    _hook = hook or _nothing
