"""Every program refuses settings that cannot work, in one line per problem, and ends."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

PLACES = {
    "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing",
    "REDIS_URL": "redis://127.0.0.1:1/0",
}
SECRET = "too-short-a-secret"
#: Name -> variables, and the one that each line is about, in order.
CASES: dict[str, tuple[dict[str, str], list[str]]] = {
    "nothing is set": ({}, ["DATABASE_URL", "REDIS_URL"]),
    "many at once": (
        {
            "DATABASE_URL": "mysql://host/db",
            "REDIS_URL": PLACES["REDIS_URL"],
            "AIJOBS_PROVIDER": "closedai",
            "AIJOBS_LEASE_SECONDS": "10",
            "AIJOBS_HEARTBEAT_SECONDS": "10",
            "AIJOBS_MODE": "production",
            "AIJOBS_JWT_SECRET": SECRET,
            "AIJOBS_RUNTIME_SERVICE_TOKEN": "t" * 32,
        },
        ["AIJOBS_PROVIDER", "AIJOBS_HEARTBEAT_SECONDS", "DATABASE_URL", "AIJOBS_JWT_SECRET"],
    ),
    "a port that is none": (
        {**PLACES, "REDIS_URL": "redis://host:port/0"},
        ["REDIS_URL"],
    ),
    "a module that is not there": (
        {**PLACES, "AIJOBS_DEFINITIONS_MODULES": "nowhere.at_all"},
        ["AIJOBS_DEFINITIONS_MODULES"],
    ),
}
PROGRAMS: dict[str, tuple[str, ...]] = {
    "api": (
        *("-m", "gunicorn", "aijobs.http.wsgi:create()", "--bind", "127.0.0.1:0"),
        "--no-control-socket",
    ),
    "worker": ("-m", "dramatiq", "aijobs.actors.worker:broker", "--processes", "1"),
    "scheduler": (
        *("-c", "import periodiq, sys; sys.exit(periodiq.entrypoint())"),
        "aijobs.actors.worker:broker",
    ),
    "migrate": ("-m", "aijobs.http.cli", "migrate"),
}
_WAIT_SECONDS = 60


def _start(program: str, environ: Mapping[str, str], folder: Path) -> subprocess.Popen[str]:
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AIJOBS_", "DATABASE_", "REDIS_", "AMQP_"))
    }
    return subprocess.Popen(
        [sys.executable, *PROGRAMS[program]],
        env={**clean, **environ},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.parametrize("case", CASES)
def test_every_program_tells_each_problem_in_a_line_and_ends(case: str, tmp_path: Path) -> None:
    environ, variables = CASES[case]
    needs_definitions = "AIJOBS_DEFINITIONS_MODULES" in environ
    names = [name for name in PROGRAMS if not (needs_definitions and name == "migrate")]
    started = {name: _start(name, environ, tmp_path) for name in names}
    try:
        said = {name: one.communicate(timeout=_WAIT_SECONDS)[0] for name, one in started.items()}
    finally:
        for one in started.values():
            one.kill()
    for name, text in said.items():
        lines = [line for line in text.splitlines() if line.startswith("aijobs: ")]
        assert [line.split()[1].partition("=")[0] for line in lines] == variables, (name, text)
        assert "Traceback" not in text, name
        assert SECRET not in text, name
        assert started[name].returncode not in (0, -9), name
