"""The demo: a stack of its own, the example study material, one job of each type, their results.

Run by bin/demo. Everything goes over HTTP, as an application would do it.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import click

from aijobs.http.client import Client
from aijobs.http.embedded import env_file

EXAMPLES = Path("docs/examples")
MATERIAL = "cell_biology.json"
_START_SECONDS = 120.0
_JOB_SECONDS = 120.0
_OVER = ("succeeded", "failed", "cancelled")
_BAR = 24

#: Job type -> parameters of the request.
JOBS: dict[str, dict[str, Any]] = {
    "quiz_generation": {"questionCount": 5},
    "flashcard_generation": {"cardCount": 6},
}


@dataclass(slots=True)
class Outcome:
    """How one job of the demo went."""

    status: str
    artifacts: int
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        rounded = round(self.seconds, 3)
        return {"status": self.status, "artifacts": self.artifacts, "seconds": rounded}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option(
    "--examples",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=EXAMPLES,
    show_default=True,
    help="Folder with the example study material.",
)
def main(as_json: bool, examples: Path) -> None:
    """Make a quiz and flashcards of real study material, through every stage, on real servers."""
    demo = Demo(quiet=as_json)
    material = json.loads((examples / MATERIAL).read_text(encoding="utf-8"))
    with stack() as env:
        client = Client(env["AIJOBS_URL"], env["AIJOBS_USER_TOKEN"])
        outcomes = demo.run(client, material)
    ok = all(outcome.status == "succeeded" for outcome in outcomes.values())
    if as_json:
        jobs = {job_type: outcome.as_dict() for job_type, outcome in outcomes.items()}
        click.echo(json.dumps({"jobs": jobs, "ok": ok}))
    sys.exit(0 if ok else 1)


@contextmanager
def stack() -> Iterator[dict[str, str]]:
    """`aijobs dev` in a folder that goes away; yields its env file. Leaves nothing running."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    with tempfile.TemporaryDirectory(prefix="aijobs-demo-") as folder:
        data, printed = Path(folder) / "stack", Path(folder) / "printed"
        command = [sys.executable, "-m", "aijobs.http.cli", "dev", "--data", str(data)]
        with printed.open("w") as log:
            child = subprocess.Popen(
                [*command, "--port", "0"], stdout=log, stderr=log, start_new_session=True
            )
        try:
            if not _is_ready(child, data / "env"):
                raise click.ClickException(f"the stack did not start:\n{printed.read_text()}")
            yield dict(env_file.read(data / "env"))
        finally:
            child.send_signal(signal.SIGINT)
            child.wait()


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    """End as an error does: by way of everything that is still to be stopped."""
    sys.exit(128 + number)


def _is_ready(child: subprocess.Popen[bytes], env: Path) -> bool:
    give_up_at = time.monotonic() + _START_SECONDS
    while not env.exists():
        if child.poll() is not None or time.monotonic() > give_up_at:
            return False
        time.sleep(0.1)
    return True


class Demo:
    """Creates the jobs, shows their progress, prints what came of them."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet

    def run(self, client: Client, material: dict[str, Any]) -> dict[str, Outcome]:
        """One job of each type on the material; how each went."""
        points = material["points"]
        base_id = client.add_base(material["title"], points)
        self._say(f"Study material: {material['title']}, {len(points)} points\n")
        began = time.monotonic()
        created = {kind: client.create_job(kind, base_id, **more) for kind, more in JOBS.items()}
        outcomes = {kind: self._watch(client, job, began) for kind, job in created.items()}
        for kind, job in created.items():
            if outcomes[kind].status == "succeeded":
                self._say(f"\n{kind}\n" + "\n".join(_readable(client.result(job["jobId"]))))
        return outcomes

    def _watch(self, client: Client, job: dict[str, Any], began: float) -> Outcome:
        shown = ""
        while True:
            now = client.job(job["jobId"])
            over = now["lifecycleStatus"] in _OVER
            if shown != (shown := _bar(now)):
                self._say(shown, end="\n" if over else "\r")
            if over or time.monotonic() - began > _JOB_SECONDS:
                break
            time.sleep(0.05)
        count = now.get("result", {}).get("artifactCount", 0)
        return Outcome(now["lifecycleStatus"], count, time.monotonic() - began)

    def _say(self, text: str, end: str = "\n") -> None:
        if not self._quiet:
            click.echo(text + end, nl=False)


def _bar(job: dict[str, Any]) -> str:
    done = job["progress"] * _BAR // 100
    shown = "█" * done + "·" * (_BAR - done)
    return f"{job['jobType']:<22} {shown} {job['progress']:>3} % {job['lifecycleStatus']:<10}"


def _readable(result: dict[str, Any]) -> Iterator[str]:
    for number, item in enumerate(result["artifacts"], 1):
        if "question" in item:
            yield f"\n{number}. {item['question']}"
            for place, option in enumerate(item["options"]):
                mark = "✓" if place == item["answerIndex"] else " "
                yield f"   {mark} {'ABCDEF'[place]}) {option}"
        else:
            yield f"\n{number}. {item['front']}\n   → {item['back']}"


if __name__ == "__main__":
    main()
