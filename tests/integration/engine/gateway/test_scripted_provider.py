"""The scripted provider keeps what the other tests count on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from aijobs.engine.answer.params import AnswerParams
from aijobs.engine.answer.read import read_answer
from aijobs.engine.chat import Reply
from aijobs.engine.definition import JobDefinition
from aijobs.engine.gateway import OpenAIProvider
from aijobs.engine.job_types import flashcard_generation, quiz_generation
from tests.integration.engine.gateway.calls import REQUEST, SOON_SECONDS, a_cut, route_to
from tests.scripted_provider import ScriptedProvider, read_log
from tests.scripted_provider.answers import default_answer

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize(
    "definition", [quiz_generation.DEFINITION, flashcard_generation.DEFINITION]
)
def test_its_default_answers_are_accepted_as_they_are(definition: JobDefinition) -> None:
    word = definition.items_field
    body = {
        "messages": [
            {"role": "system", "content": f'Write {{"{word}": []}}'},
            {"role": "user", "content": '{"ref": "k3", "title": "Heat"}\nWrite exactly 3.'},
        ]
    }
    text = default_answer(body)
    reply = Reply(text, "stop", None, False, False, "m", None, 200)
    params = AnswerParams(requested_count=3, refs=frozenset({"k3"}))
    answer = read_answer(definition, reply, params)
    assert (answer.outcome, answer.delivered_count) == ("accept", 3)
    assert default_answer(body) == text != default_answer(body, " (2)")


def test_one_off_behaviours_come_before_the_default(
    server: ScriptedProvider, provider: OpenAIProvider
) -> None:
    server.script("ok", text="default")
    server.enqueue("ok", text="first")
    server.enqueue("ok_plain", text="second")
    route = route_to(server)
    texts = [provider.complete(route, REQUEST, a_cut()).text for _ in range(3)]
    assert texts == ["first", "second", "default"]
    assert [call.number for call in server.calls] == [1, 2, 3]


def test_it_runs_as_a_process_and_keeps_a_log(provider: OpenAIProvider, tmp_path: Path) -> None:
    log = tmp_path / "calls.jsonl"
    command = [sys.executable, "-m", "tests.scripted_provider", "--log", str(log), "--unique"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        texts = [provider.complete(route_to(url), REQUEST, a_cut()).text for _ in range(2)]
        process.send_signal(signal.SIGTERM)
        assert process.wait(SOON_SECONDS) == 0
    first, second = read_log(log)
    assert (first["n"], first["outcome"], first["model"]) == (1, "answered", "model-asked")
    assert first["sha"] == second["sha"] and second["at"] >= first["at"]
    assert texts[0] != texts[1] and all(json.loads(text or "") for text in texts)
