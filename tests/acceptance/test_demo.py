"""The demo as a person or a script runs it, and whether its quiz can be answered from the notes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pytest

from aijobs.http.embedded.records import MARK
from aijobs.models import database as db
from aijobs.models import learner, produced, results
from aijobs.models.learner import NewPoint
from tests.eventually import eventually
from tests.processes import runs
from tests.world import World

ROOT = Path(__file__).parents[2]
MATERIAL = ROOT / "docs/examples/cell_biology.json"
BLANK = "____"
#: What `docs/examples` and the requests of the demo come to, one job of each type.
ARTIFACTS = {
    "learning_state_analysis": 1,
    "weak_point_analysis": 10,
    "next_action_planning": 5,
    "quiz_generation": 5,
    "flashcard_generation": 6,
    "active_recall": 1,
    "feynman_evaluation": 1,
}

_SECONDS = 120

Question = dict[str, Any]


class Demo:
    """`python -m aijobs.http.demo` whose stack lies in a folder of the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._started: subprocess.Popen[str] | None = None

    def begin(self, *words: str, **environ: str) -> subprocess.Popen[str]:
        """Start it and return at once."""
        ours = ("AIJOBS_", "DATABASE_", "REDIS_", "AMQP_")
        clean = {name: text for name, text in os.environ.items() if not name.startswith(ours)}
        self._started = subprocess.Popen(
            [sys.executable, "-m", "aijobs.http.demo", *words],
            env={**clean, "TMPDIR": str(self.folder), "PYTHONIOENCODING": "utf-8", **environ},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )
        return self._started

    def run(self, *words: str, **environ: str) -> tuple[int, str, str]:
        """Exit status, standard output, standard error."""
        started = self.begin(*words, **environ)
        printed, complaint = started.communicate(timeout=_SECONDS)
        return started.returncode, printed, complaint

    def left_running(self) -> list[int]:
        """Every process of a stack in the folder."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                mark = process.environ().get(MARK, "")
                if mark.startswith(str(self.folder)) and runs(process.pid):
                    found.append(process.pid)
        return found

    def clear_away(self) -> None:
        """End everything, whatever state a failed test left it in."""
        if self._started is not None:
            self._started.kill()
            self._started.communicate()
        for pid in self.left_running():
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def demo(server_folder: Path) -> Iterator[Demo]:
    demo = Demo(server_folder)
    yield demo
    demo.clear_away()


def test_with_json_it_prints_one_object_and_leaves_nothing_running(demo: Demo) -> None:
    status, printed, complaint = demo.run("--json")
    assert (status, complaint) == (0, "")
    told = json.loads(printed)
    jobs = told.pop("jobs")
    assert told == {"ok": True}
    seconds = [job.pop("seconds") for job in jobs.values()]
    assert {job["status"] for job in jobs.values()} == {"succeeded"}
    assert {job_type: job["artifacts"] for job_type, job in jobs.items()} == ARTIFACTS
    assert all(isinstance(number, float) and number > 0 for number in seconds)
    assert demo.left_running() == []
    assert list(demo.folder.iterdir()) == []


def test_for_a_person_it_shows_progress_a_quiz_with_the_answers_marked_and_cards(
    demo: Demo,
) -> None:
    status, printed, complaint = demo.run()
    assert (status, complaint) == (0, "")
    progress, *parts = re.split(r"\n── (\w+) ──\n", printed)
    results = dict(zip(parts[::2], parts[1::2], strict=True))
    assert list(results) == list(ARTIFACTS)
    quiz, cards = results["quiz_generation"], results["flashcard_generation"]
    bars = re.split(r"[\r\n]", progress)
    for job_type in ARTIFACTS:
        shown = [bar for bar in bars if bar.startswith(job_type)]
        assert re.search(r" █{24} 100 % succeeded", shown[-1])
        assert len(shown) == len(set(shown)), "a bar is printed when something has changed"
    questions = re.split(r"\n\d\. ", quiz)[1:]
    assert len(questions) == 5
    for question in questions:
        options = re.findall(r"^   ([ ✓]) ([A-F])\) .+$", question, re.M)
        assert [letter for _, letter in options] == list("ABCDEF"[: len(options)])
        assert len(options) >= 2
        assert [mark for mark, _ in options].count("✓") == 1
    assert len(re.findall(r"^\d\. .+\n   → .+$", cards, re.M)) == 6
    mastery = r"^   [█·]{20} +\d+% .+$"
    assert len(re.findall(mastery, results["learning_state_analysis"], re.M)) == 8
    weak = r"^ ?\d+\. \[(?:high|medium|low) *\] .+: \d+ % right in \d+ attempts?, last on "
    assert len(re.findall(weak, results["weak_point_analysis"], re.M)) == 10
    action = r"^ \d\. .+ \(\d+ min, (?:high|medium|low)\)\n    .+$"
    assert len(re.findall(action, results["next_action_planning"], re.M)) == 5
    for evaluation in ("active_recall", "feynman_evaluation"):
        assert re.search(r"^Score \d+%", results[evaluation], re.M)
    assert demo.left_running() == []


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)]
)
def test_broken_off_it_leaves_nothing_running(demo: Demo, number: signal.Signals) -> None:
    begun = demo.begin()
    eventually(lambda: len(demo.left_running()) > 3, 60)
    begun.send_signal(number)
    begun.communicate(timeout=60)
    assert begun.returncode != 0
    assert demo.left_running() == []
    assert list(demo.folder.iterdir()) == []


def test_a_stack_that_does_not_start_is_told_with_its_reason(demo: Demo) -> None:
    status, printed, complaint = demo.run(AIJOBS_LEASE_SECONDS="-1")
    assert (status, printed) == (1, "")
    assert "the stack did not start" in complaint
    assert "AIJOBS_LEASE_SECONDS" in complaint
    assert "Traceback" not in complaint
    assert demo.left_running() == []


@pytest.mark.parametrize("count", [8, 20, 124])
def test_a_reader_of_the_notes_answers_every_question_of_the_example_material(
    here: World, count: int
) -> None:
    """For each question exactly one option agrees with the notes, and it is the marked one.

    Fewer points make for more questions, and more kinds of them, about each.
    """
    points = json.loads(MATERIAL.read_text(encoding="utf-8"))["points"][:count]
    notes = {point["title"]: point["body"] for point in points}
    base_id = uuid4()
    learner.add_base(base_id, here.user_id, "Cell biology")
    new = [NewPoint(uuid4(), p["title"], p["body"], tuple(p["tags"])) for p in points]
    learner.add_points(base_id, new)
    job = here.finish(here.create(targetId=str(base_id), questionCount=50))
    assert job.lifecycle_status == "succeeded"
    questions = _questions(job.id)
    assert 30 <= len(questions) <= 50
    assert len({question["question"] for question in questions}) == len(questions)
    places = Counter(question["answer_index"] for question in questions)
    assert min(places[place] for place in range(4)) >= len(questions) / 8, "a guesser's chance"
    for question in questions:
        assert _answers(question, notes) == [question["answer_index"]], question


def _questions(job_id: Any) -> list[Question]:
    def look() -> list[Question]:
        artifacts = results.artifacts_of([job_id])[job_id]
        rows = produced.rows_of(artifacts)
        return [rows[artifact.artifact_id] for artifact in artifacts]

    return db.read(look)


def _answers(question: Question, notes: dict[str, str]) -> list[int]:
    """The options that the notes agree with, as a reader finds them who can only compare texts."""
    stem, options = question["question"], question["options"]
    quoted = re.findall("“(.+?)”(?=$|[,:?]| )", stem)
    if stem.startswith("According to the notes, which term"):
        agreed = [_filled(quoted[-1], option) in _plain(notes[option]) for option in options]
    elif stem.startswith("According to the notes on"):
        agreed = [_filled(quoted[-1], option) in _plain(notes[quoted[0]]) for option in options]
    elif stem.startswith("Which topic do the notes describe"):
        agreed = [_plain(quoted[-1]) in _plain(notes[option]) for option in options]
    elif stem.startswith("Which of these statements"):
        agreed = [_plain(option) in _plain(notes[quoted[0]]) for option in options]
    else:
        assert stem.startswith("True or false, according to the notes on"), stem
        is_said = _plain(quoted[-1]) in _plain(notes[quoted[0]])
        agreed = [option == str(is_said) for option in options]
    return [place for place, agrees in enumerate(agreed) if agrees]


def _filled(sentence: str, option: str) -> str:
    return _plain(sentence.replace(BLANK, option))


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).casefold()
