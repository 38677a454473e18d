"""Several processes behind one address: whichever is asked tells what all of them have counted."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil

from aijobs.engine.shared_counts import merged
from aijobs.http.embedded.records import Records
from tests.eventually import eventually
from tests.integration.http.api_process import api_process
from tests.scrape import scrape
from tests.world import World

PAGE = "/openapi.json"
ROUND = 8


def _ask(url: str, count: int) -> None:
    """So many requests at once, each over a connection of its own."""
    with ThreadPoolExecutor(count) as pool:
        answers = pool.map(lambda _: httpx.get(f"{url}{PAGE}", trust_env=False), range(count))
        assert {answer.status_code for answer in answers} == {200}


def _have_both_counted(directory: Path, tmp_path: Path) -> bool:
    """Whether the page was served by each of two processes."""
    files = list(directory.glob("counter_*.db"))
    for file in files:
        alone = tmp_path / f"alone-{file.stem}"
        alone.mkdir(exist_ok=True)
        (alone / "counter_0.db").write_bytes(file.read_bytes())
        samples = [sample for metric in merged(alone) for sample in metric.samples]
        if not any(sample.labels.get("route") == PAGE for sample in samples):
            return False
    return len(files) == 2


def _counted(url: str) -> set[float | None]:
    """What several scrapes say, asked of whoever accepts them."""
    return {
        scrape(url).value("aijobs_http_requests_total", route=PAGE, status="200") for _ in range(10)
    }


def _workers() -> set[int]:
    """The processes of the gunicorn that this one started."""
    masters = [child for child in psutil.Process().children() if "gunicorn" in str(child.cmdline())]
    assert len(masters) == 1
    return {child.pid for child in masters[0].children()}


def test_requests_spread_over_two_processes_are_all_in_every_scrape_also_after_one_is_killed(
    here: World, server_folder: Path, run_records: Records, tmp_path: Path
) -> None:
    directory = server_folder / "metrics"
    environ = {"AIJOBS_METRICS_DIR": str(directory), "GUNICORN_CMD_ARGS": "--workers 2"}
    with api_process(here.engine.settings, server_folder, run_records, **environ) as url:
        eventually(lambda: len(_workers()) == 2, 30)
        victim = min(_workers())
        asked = 0
        while asked == 0 or not _have_both_counted(directory, tmp_path):
            _ask(url, ROUND)
            asked += ROUND
        assert _counted(url) == {asked}
        os.kill(victim, signal.SIGKILL)
        eventually(lambda: len(_workers()) == 2 and victim not in _workers(), 30)
        assert _counted(url) == {asked}
        _ask(url, ROUND)
        assert _counted(url) == {asked + ROUND}
        assert len(list(directory.glob("counter_*.db"))) == 2


def test_without_a_directory_a_process_tells_what_it_has_counted_itself(
    here: World, server_folder: Path, run_records: Records
) -> None:
    with api_process(here.engine.settings, server_folder, run_records) as url:
        _ask(url, 5)
        assert _counted(url) == {5}
