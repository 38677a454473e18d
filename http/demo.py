"""The demo: a stack of its own, the example study material, one job of each type, their results.

Run by bin/demo. Everything goes over HTTP, as an application would do it.
"""

from __future__ import annotations

import csv
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
from aijobs.http.embedded.announcement import DEMO_USER
from aijobs.http.readable import readable
from aijobs.http.tokens import user_id_of

EXAMPLES = Path("docs/examples")
MATERIAL, STUDY_LOG = "cell_biology.json", "study_log.csv"
_START_SECONDS = 120.0
_JOB_SECONDS = 120.0
_OVER = ("succeeded", "failed", "cancelled")
_BAR = 24

#: What the demo's learner writes from memory about the point of that title.
RECALLED_POINT = "Mitochondrion"
RECALL = (
    "It makes most of the energy currency of a eukaryotic cell by oxidising food with oxygen. "
    "The inner membrane is folded into cristae."
)
#: Job type -> what it is about, and the parameters of the request.
JOBS: dict[str, tuple[str, dict[str, Any]]] = {
    "learning_state_analysis": ("user", {}),
    "weak_point_analysis": ("knowledge_base", {}),
    "next_action_planning": ("user", {}),
    "quiz_generation": ("knowledge_base", {"questionCount": 5}),
    "flashcard_generation": ("knowledge_base", {"cardCount": 6}),
    "active_recall": ("knowledge_point", {"answerText": RECALL}),
    "feynman_evaluation": ("knowledge_point", {"answerText": RECALL}),
}
#: Created and awaited in two goes: a user may have five active jobs.
_AT_ONCE = 4


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
    """Run a job of each type on real study material, through every stage, on real servers."""
    demo = Demo(quiet=as_json)
    with stack() as env:
        client = Client(env["AIJOBS_URL"], env["AIJOBS_USER_TOKEN"])
        outcomes = demo.run(client, examples)
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

    def run(self, client: Client, examples: Path) -> dict[str, Outcome]:
        """One job of each type on the material; how each went."""
        targets = self._load(client, examples)
        outcomes: dict[str, Outcome] = {}
        results: list[str] = []
        for batch in _batches():
            began = time.monotonic()
            created = {
                kind: client.create_job(kind, target, targets[target], **parameters)
                for kind, (target, parameters) in batch
            }
            for kind, job in created.items():
                outcomes[kind] = self._watch(client, job, began)
                if outcomes[kind].status == "succeeded":
                    lines = readable(client.result(job["jobId"]))
                    results.append(f"\n── {kind} ──\n" + "\n".join(lines))
        self._say("\n".join(results))
        return outcomes

    def _load(self, client: Client, examples: Path) -> dict[str, str]:
        """Store the study material and the study log; the id of each kind of target."""
        material = json.loads((examples / MATERIAL).read_text(encoding="utf-8"))
        with (examples / STUDY_LOG).open(encoding="utf-8", newline="") as log:
            rows = list(csv.DictReader(log))
        base_id = client.add_base(material["title"])
        points = client.add_points(base_id, material["points"])
        client.add_study_records([_record(row, points) for row in rows])
        self._say(f"{material['title']}: {len(points)} points, {len(rows)} study records\n")
        return {
            "user": str(user_id_of(DEMO_USER)),
            "knowledge_base": base_id,
            "knowledge_point": points[RECALLED_POINT],
        }

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


def _batches() -> Iterator[list[tuple[str, tuple[str, dict[str, Any]]]]]:
    jobs = list(JOBS.items())
    for start in range(0, len(jobs), _AT_ONCE):
        yield jobs[start : start + _AT_ONCE]


def _record(row: dict[str, str], points: dict[str, str]) -> dict[str, Any]:
    """A line of the study log as the API takes it."""
    record: dict[str, Any] = {
        "knowledgePointId": points[row["point_title"]],
        "activity": row["activity"],
        "durationMs": int(row["duration_ms"]),
        "at": row["at"],
    }
    if row["correct"]:
        record["correct"] = row["correct"] == "true"
    if row["score"]:
        record["score"] = float(row["score"])
    return record


def _bar(job: dict[str, Any]) -> str:
    done = job["progress"] * _BAR // 100
    shown = "█" * done + "·" * (_BAR - done)
    return f"{job['jobType']:<24} {shown} {job['progress']:>3} % {job['lifecycleStatus']:<10}"


if __name__ == "__main__":
    main()
