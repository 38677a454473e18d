"""A circuit as tests see and move it: by real calls, by the periodic pass, by moved timestamps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from aijobs.actors.circuits import Circuits
from aijobs.models.tables import AiJob
from tests.integration.engine.seen import rows
from tests.integration.engine.wire import MODEL, attempt
from tests.integration.models.states import created
from tests.scripted_provider import ScriptedProvider
from tests.world import World

PROVIDER = "scripted"
#: The contract's numbers (limits.md, Circuit).
FAILURES_TO_OPEN = 10
OPEN_SECONDS = 60
PROBES = 2
#: Faults of account, key or model of the platform: the knob that plays each, and its class.
FAULTS = {
    "401": "CREDENTIAL_INVALID",
    "403": "CREDENTIAL_INVALID",
    "402": "PROVIDER_ACCOUNT",
    "429_no_money": "PROVIDER_ACCOUNT",
    "404_html": "PROVIDER_ACCOUNT",
    "redirect_302": "PROVIDER_ACCOUNT",
    "bad_model_400": "PROVIDER_ACCOUNT",
}


@dataclass(frozen=True)
class Circuit:
    """State, epoch and failures in a row. A route without a row has never failed."""

    state: str = "closed"
    epoch: int = 0
    failures: int = 0


def circuit_of(provider: str = PROVIDER) -> Circuit:
    """The circuit as it is now."""
    found = rows("SELECT * FROM platform_circuit WHERE provider = %(provider)s", provider=provider)
    if not found:
        return Circuit()
    [row] = found
    assert row["model"] == MODEL
    return Circuit(row["state"], row["epoch"], row["consecutive_failures"])


def row_of(provider: str = PROVIDER) -> dict[str, Any]:
    """Its whole row."""
    [row] = rows("SELECT * FROM platform_circuit WHERE provider = %(provider)s", provider=provider)
    return row


def changes() -> list[tuple[str, str, str]]:
    """The audit of circuits: what, before and after, as state/epoch."""
    found = rows("SELECT what, before, after FROM admin_audit ORDER BY id")
    return [(row["what"], _told(row["before"]), _told(row["after"])) for row in found]


def called(
    here: World, server: ScriptedProvider, knob: Any = "ok", /, times: int = 1, **options: Any
) -> AiJob:
    """As many jobs from before, each with one attempt whose first call is answered so; the last."""
    for _ in range(times):
        server.enqueue(knob, **options)
        job = attempt(here, created(here))
    return job


def opened(here: World, server: ScriptedProvider, knob: str = "402") -> Circuit:
    """The circuit, after a call that has opened it."""
    called(here, server, knob)
    found = circuit_of()
    assert found.state == "open"
    return found


def half_opened(here: World, server: ScriptedProvider, knob: str = "402") -> Circuit:
    """The circuit, after a call that has opened it and the time that it stays open."""
    opened(here, server, knob)
    time_passes()
    passed(here)
    found = circuit_of()
    assert found.state == "half_open"
    return found


def half_opened_by_failures(here: World, server: ScriptedProvider) -> Circuit:
    """The same after as many failures as it takes: it has two probes then."""
    called(here, server, "503", times=FAILURES_TO_OPEN - 1)
    return half_opened(here, server, "503")


def time_passes(seconds: float = OPEN_SECONDS) -> None:
    """Whatever waits for its next probe has waited that much longer."""
    rows(
        "UPDATE platform_circuit "
        "SET next_probe_at = next_probe_at - %(seconds)s * interval '1 second'",
        seconds=seconds,
    )


def passed(here: World) -> int:
    """One pass of the circuits, by another process."""
    return Circuits(here.other_process().engine).run_once()


def _told(side: dict[str, Any]) -> str:
    return f"{side['state']}/{side['epoch']}"
