"""The supervisor over real processes: restarts, the order of the end, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from aijobs.http.embedded.directory import Directory
from aijobs.http.embedded.records import stop_leftovers
from tests.eventually import eventually
from tests.processes import carrying, runs

ROOT = Path(__file__).parents[4]

#: Says that it runs, writes each signal down, and ends on SIGTERM.
OBEDIENT = """
import os, pathlib, signal, sys
name = pathlib.Path(sys.argv[1], "events")
def note(word):
    with name.open("a") as file: file.write(f"{word} {os.getpid()}\\n")
def end(number, frame):
    note("ended"); sys.exit(0)
signal.signal(signal.SIGTERM, end)
signal.signal(signal.SIGINT, lambda *_: note("interrupted"))
note("started")
while True: signal.pause()
"""
STUBBORN = OBEDIENT.replace("end)\n", "lambda *_: note('refused'))\n")
#: Like dramatiq: a master with a worker in its group that does not notice its death.
MASTER = """
import subprocess, sys
subprocess.run([sys.executable, "-c", sys.argv[2], sys.argv[1]])
"""
MASTER = f"import sys; sys.argv.append({OBEDIENT!r})\n{MASTER}"

Started = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def directory(tmp_path: Path) -> Directory:
    return Directory(tmp_path / "stack")


@pytest.fixture
def supervise(directory: Directory) -> Iterator[Started]:
    """Start a supervisor in a group of its own; in the end nothing of its directory may run."""
    running: list[subprocess.Popen[str]] = []

    def start(*commands: tuple[str, str, int, float]) -> subprocess.Popen[str]:
        module = "tests.integration.http.embedded.supervised"
        supervisor = subprocess.Popen(
            [sys.executable, "-m", module, str(directory.path), json.dumps(commands)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        running.append(supervisor)
        return supervisor

    yield start
    for supervisor in running:
        assert supervisor.stdout is not None
        supervisor.kill()
        supervisor.wait()
        supervisor.stdout.close()
    stop_leftovers(directory.processes, str(directory.path))
    assert carrying(str(directory.path)) == []


def test_a_program_that_dies_is_started_again(directory: Directory, supervise: Started) -> None:
    supervise(("one", OBEDIENT, 1, 5))
    first = eventually(lambda: _pids(directory, "started"))[0]
    os.kill(first, signal.SIGKILL)
    second = eventually(lambda: _pids(directory, "started")[1:])[0]
    assert [row["pid"] for row in _records(directory)] == [second]


def test_a_program_that_keeps_dying_is_tried_again_after_doubling_pauses(
    supervise: Started,
) -> None:
    supervisor = supervise(("broken", "raise SystemExit(3)", 1, 5))
    assert supervisor.stdout is not None
    lines = [supervisor.stdout.readline() for _ in range(3)]
    assert [line.split(", see")[0] for line in lines] == [
        "broken ended with status 3: again in 0.5 s",
        "broken ended with status 3: again in 1 s",
        "broken ended with status 3: again in 2 s",
    ]


def test_higher_tiers_end_before_lower_ones(directory: Directory, supervise: Started) -> None:
    commands = [("server", OBEDIENT, 0, 5), ("api", OBEDIENT, 1, 5), ("worker", OBEDIENT, 1, 5)]
    supervisor = supervise(*commands)
    eventually(lambda: len(_pids(directory, "started")) == 3)
    server = next(row["pid"] for row in _records(directory) if row["name"] == "server")
    supervisor.send_signal(signal.SIGTERM)
    assert "stopped" in supervisor.communicate()[0]
    assert supervisor.returncode == 0
    assert len(_pids(directory, "ended")) == 3
    assert _pids(directory, "ended")[-1] == server
    assert _records(directory) == []


def test_ctrl_c_reaches_the_supervisor_alone(directory: Directory, supervise: Started) -> None:
    supervisor = supervise(("one", OBEDIENT, 1, 5))
    eventually(lambda: _pids(directory, "started"))
    os.killpg(supervisor.pid, signal.SIGINT)  # what a terminal does
    supervisor.communicate()
    assert supervisor.returncode == 0
    assert _pids(directory, "interrupted") == []
    assert _pids(directory, "ended") == _pids(directory, "started")


def test_what_refuses_to_end_is_killed_after_its_grace(
    directory: Directory, supervise: Started
) -> None:
    supervisor = supervise(("stubborn", STUBBORN, 1, 0.2))
    pid = eventually(lambda: _pids(directory, "started"))[0]
    supervisor.send_signal(signal.SIGTERM)
    supervisor.communicate()
    assert _pids(directory, "refused") == [pid]
    assert not runs(pid)


def test_a_second_ctrl_c_does_not_wait_for_the_grace(
    directory: Directory, supervise: Started
) -> None:
    supervisor = supervise(("stubborn", STUBBORN, 1, 3600))
    pid = eventually(lambda: _pids(directory, "started"))[0]
    supervisor.send_signal(signal.SIGINT)
    eventually(lambda: _pids(directory, "refused"))
    supervisor.send_signal(signal.SIGINT)
    supervisor.communicate(timeout=30)
    assert supervisor.returncode == 0
    assert not runs(pid)


def test_the_worker_of_a_dead_master_does_not_outlive_it(
    directory: Directory, supervise: Started
) -> None:
    supervise(("master", MASTER, 1, 5))
    orphan = eventually(lambda: _pids(directory, "started"))[0]
    os.kill(_records(directory)[0]["pid"], signal.SIGKILL)
    eventually(lambda: not runs(orphan))


def test_what_a_killed_supervisor_left_is_stopped_by_the_next(
    directory: Directory, supervise: Started
) -> None:
    killed = supervise(("server", OBEDIENT, 0, 5), ("master", MASTER, 1, 5))
    eventually(lambda: len(_pids(directory, "started")) == 2)
    left = _pids(directory, "started")
    master = next(row["pid"] for row in _records(directory) if row["name"] == "master")
    killed.kill()
    killed.communicate()
    os.kill(master, signal.SIGKILL)  # its worker is on no list now
    assert all(map(runs, left))
    following = supervise(("next", OBEDIENT, 1, 5))
    eventually(lambda: len(_pids(directory, "started")) == 3)
    assert not any(map(runs, left))
    following.send_signal(signal.SIGTERM)
    assert "left over: server" in following.communicate()[0]


def test_a_stranger_with_a_recorded_pid_is_spared(directory: Directory) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        created = psutil.Process(stranger.pid).create_time()
        row = {"name": "x", "pid": stranger.pid, "tier": 1, "stop_signal": int(signal.SIGKILL)}
        directory.processes.write_text(json.dumps([{**row, "created": created - 100}]))
        assert stop_leftovers(directory.processes, str(directory.path)) == []
        assert stranger.poll() is None
        directory.processes.write_text(json.dumps([{**row, "created": created}]))
        assert stop_leftovers(directory.processes, str(directory.path)) == ["x"]
        assert not runs(stranger.pid)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "[1]", '[{"pid": 1}]'])
def test_a_broken_list_of_processes_stops_nothing(directory: Directory, text: str) -> None:
    directory.processes.write_text(text)
    assert stop_leftovers(directory.processes, str(directory.path)) == []


def test_a_second_supervisor_on_a_directory_is_refused(
    directory: Directory, supervise: Started
) -> None:
    first = supervise(("one", OBEDIENT, 1, 5))
    eventually(lambda: _pids(directory, "started"))
    second = supervise(("two", OBEDIENT, 1, 5))
    output = second.communicate()[0]
    assert second.returncode == 1
    assert f"is in use by another `aijobs dev` (process {first.pid})" in output
    assert len(_pids(directory, "started")) == 1


def _pids(directory: Directory, word: str) -> list[int]:
    events = directory.path / "events"
    lines = events.read_text().splitlines() if events.exists() else []
    return [int(line.split()[1]) for line in lines if line.startswith(word)]


def _records(directory: Directory) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(directory.processes.read_text())
    return rows
