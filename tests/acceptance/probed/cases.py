"""The cases of the crash matrix: how each probe is reached, and what the crash there may cost.

Invariant: every point of models/probes.py is in a case or, with a reason, in `LEFT_OUT`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from aijobs.models.probes import POINTS
from tests.acceptance.probed import plays
from tests.acceptance.probed.scene import Scene

#: Names without a process that passes them on behalf of a job.
LEFT_OUT = {
    "learner": "a user's own writes of study material: no job depends on them",
    "credential": "writes of users' own keys: no job begins or ends with them",
    "settings": "a user's switch and limits: one transaction, which no job waits for",
    "begin": "edge 4 belongs to runtimes, which no process serves yet",
}

_RELAY = ("relay_claim", "relay_message", "relay_publish")

#: A play drives one job to its end, past the death of the process that it gave these orders.
Play = Callable[[Scene, Mapping[str, Any]], UUID]


@dataclass(frozen=True)
class Case:
    """One crash. `calls`: how the job's calls must have ended; `unsent`: those that never left."""

    play: Play
    point: str
    calls: list[str]
    since: str | None = None
    end: str = "succeeded"
    unsent: int = 0

    def __str__(self) -> str:
        later = f" after {self.since.split('.')[0]}" if self.since else ""
        return f"{self.play.__name__}: {self.point}{later}"

    @property
    def orders(self) -> dict[str, Any]:
        """What the dying process is told. A relay that dies has no time to take the job as well."""
        relays = self.since is None and self.point.split(".")[0] in _RELAY
        return {"dies_at": self.point, "since": self.since} | (
            {"queues": ("system",)} if relays else {}
        )


@dataclass(frozen=True)
class _Row:
    """The cases of one play: `names` with both sides each; `special` overrides a point's fields."""

    play: Play
    names: tuple[str, ...]
    calls: list[str]
    since: str | None = None
    end: str = "succeeded"
    special: Mapping[str, dict[str, Any]] = field(default_factory=dict)

    def cases(self) -> list[Case]:
        usual: dict[str, Any] = {"calls": self.calls, "since": self.since, "end": self.end}
        points = [f"{name}.{side}" for name in self.names for side in _sides(name)]
        assert set(self.special) <= set(points)
        return [
            Case(self.play, point, **{**usual, **self.special.get(point, {})}) for point in points
        ]


def _sides(name: str) -> tuple[str, str]:
    kind = "send" if f"{name}.before_send" in POINTS else "commit"
    return f"before_{kind}", f"after_{kind}"


_ONCE = ["completed"]
_AGAIN = ["unknown", "completed"]

_ROWS = (
    # A job on its way, from the first event to the last.
    _Row(plays.run, (*_RELAY, "claim"), _ONCE),
    _Row(
        plays.run,
        ("call_started", "provider_call", "execute"),
        _ONCE,
        special={
            "call_started.after_commit": {"calls": _AGAIN, "unsent": 1},
            "provider_call.before_send": {"calls": _AGAIN, "unsent": 1},
            "provider_call.after_send": {"calls": _AGAIN},
            "execute.before_commit": {"calls": _AGAIN},
        },
    ),
    _Row(plays.run, ("project", "relay_hint", "complete"), _ONCE),
    _Row(plays.run, _RELAY, _ONCE, since="project.after_commit"),
    _Row(plays.run_past_a_call_without_answer, ("heartbeat",), _AGAIN),
    _Row(plays.run_on_an_expired_snapshot, ("snapshot",), _ONCE),
    # Faults of the provider and of its answers.
    _Row(
        plays.run_past_an_unavailable_provider,
        ("call_finished", "release_for_retry"),
        ["failed", "completed"],
        special={"call_finished.before_commit": {"calls": _AGAIN}},
    ),
    _Row(
        plays.run_with_an_answer_to_repair,
        ("call_finished",),
        ["completed", "completed"],
        special={"call_finished.before_commit": {"calls": ["unknown", "completed", "completed"]}},
    ),
    _Row(plays.run_past_a_refused_key, ("hand_back",), ["failed", "completed"]),
    _Row(
        plays.run_past_a_refused_key,
        ("circuit", "circuit_wake"),
        ["failed", "completed"],
        since="hand_back.after_commit",
    ),
    _Row(
        plays.run_into_a_refused_request,
        ("fail",),
        ["failed"],
        end="failed",
        special={"fail.before_commit": {"calls": ["failed", "failed"]}},
    ),
    # The API.
    _Row(plays.create, ("create", "relay_hint"), _ONCE),
    _Row(plays.cancel_while_queued, ("cancel",), [], end="cancelled"),
    _Row(
        plays.cancel_while_queued,
        ("relay_hint",),
        [],
        since="cancel.after_commit",
        end="cancelled",
    ),
    _Row(plays.cancel_while_running, ("request_cancel", "cancel_hint"), ["cut"], end="cancelled"),
    _Row(
        plays.be_cancelled,
        ("call_finished", "confirm_cancel"),
        ["cut"],
        end="cancelled",
        special={"call_finished.before_commit": {"calls": ["unknown"]}},
    ),
    # What repairs.
    _Row(plays.reap_and_requeue, ("reap",), _ONCE),
    _Row(plays.reap_and_give_up, ("reap",), [], end="failed"),
    _Row(plays.reap_and_cancel, ("reap",), [], end="cancelled"),
    _Row(plays.sweep_a_lost_hint, ("sweep", "pass", "purge"), _ONCE),
    _Row(plays.sweep_a_lost_end, ("sweep",), _ONCE, since="sweep.after_commit"),
    _Row(plays.sweep_an_orphan, ("reject",), [], end="failed"),
    _Row(plays.release_a_dead_relays_event, ("relay_release",), _ONCE),
    _Row(plays.fail_a_pass, ("pass_failed",), _ONCE),
    _Row(plays.relay_without_a_broker, ("relay_return",), _ONCE),
    _Row(plays.relay_a_faulty_event, ("relay_return", "reject"), [], end="failed"),
)

CASES = [case for row in _ROWS for case in row.cases()]
