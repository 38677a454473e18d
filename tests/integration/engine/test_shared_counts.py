"""Counting in files: real processes, forked, killed and started again, make one sum."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from aijobs.engine.shared_counts import merged

ROOT = Path(__file__).parents[3]
#: Counts `argv[2]` retries, and as many more in a forked child that outlives its first count.
PROGRAM = """
import os, signal, sys
from pathlib import Path
from aijobs.engine.metrics import Meters
meters, times = Meters(Path(sys.argv[1])), int(sys.argv[2])
def work():
    for _ in range(times):
        meters.count_retry("quiz_generation", "JOB_TIMEOUT")
work()
if sys.argv[3] == "fork" and os.fork() == 0:
    work()
    os._exit(0)
if sys.argv[3] == "fork":
    os.wait()
    work()
if sys.argv[3] == "stay":
    print("counted", flush=True)
    sys.stdin.read()
os.kill(os.getpid(), signal.SIGKILL)
"""


def _start(directory: Path, times: int, how: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, str(directory), str(times), how]
    return subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _run(directory: Path, times: int, how: str = "plain") -> None:
    process = _start(directory, times, how)
    process.communicate(timeout=60)
    assert process.returncode == -9


def _counted(directory: Path) -> float:
    return sum(
        sample.value
        for metric in merged(directory)
        for sample in metric.samples
        if sample.name == "aijobs_job_retries_total"
    )


def _files(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.glob("counter_*.db"))


def test_what_a_killed_process_has_counted_is_kept_and_its_file_taken_over(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        _run(tmp_path, 5)
        assert _counted(tmp_path) == 5 * number
        assert _files(tmp_path) == ["counter_0.db"]


def test_a_forked_child_counts_for_itself(tmp_path: Path) -> None:
    _run(tmp_path, 4, "fork")
    assert _counted(tmp_path) == 12
    assert _files(tmp_path) == ["counter_0.db", "counter_1.db"]


def test_processes_at_once_have_a_file_each_and_one_sum(tmp_path: Path) -> None:
    with_files = list(_staying(tmp_path, 4))
    assert _counted(tmp_path) == 4 * 7
    assert len(_files(tmp_path)) == 4
    with_files[1].kill()
    with_files[1].communicate()
    _run(tmp_path, 1)
    assert _counted(tmp_path) == 4 * 7 + 1
    assert len(_files(tmp_path)) == 4
    for process in with_files:
        process.kill()
        process.communicate()


def _staying(directory: Path, count: int) -> Iterator[subprocess.Popen[str]]:
    for process in [_start(directory, 7, "stay") for _ in range(count)]:
        assert process.stdout is not None
        assert process.stdout.readline() == "counted\n"
        yield process


def test_only_its_owner_can_look_into_the_directory(tmp_path: Path) -> None:
    directory = tmp_path / "deep" / "metrics"
    _run(directory, 1)
    assert directory.stat().st_mode & 0o777 == 0o700


def test_a_file_that_is_just_being_made_counts_nothing(tmp_path: Path) -> None:
    _run(tmp_path, 2)
    (tmp_path / "counter_1.db").touch()
    assert _counted(tmp_path) == 2


def test_the_environment_of_the_one_who_reads_is_not_touched(tmp_path: Path) -> None:
    before = dict(os.environ)
    _run(tmp_path, 1)
    _counted(tmp_path)
    assert dict(os.environ) == before
