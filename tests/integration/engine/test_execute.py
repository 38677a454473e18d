"""EXECUTE: a bounded conversation with the model, kept so that no answer is ever paid for twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from aijobs.actors.reaper import Reaper
from aijobs.engine.answer import output_hash
from aijobs.engine.job_types import BUILTIN
from aijobs.engine.registry import Registry
from aijobs.models import probes
from tests.integration.engine.seen import calls, causes, rows, states
from tests.scripted_provider import ProviderCall, ScriptedProvider
from tests.world import POINTS, World

NOT_JSON = "I would rather not."


def _question(**changes: Any) -> dict[str, Any]:
    options = ["the genome", "water", "sugar", "acid"]
    asked = {"question": "What does the nucleus hold?", "options": options, "answer_index": 0}
    return {**asked, **changes}


def _quiz(*questions: dict[str, Any]) -> str:
    return json.dumps({"questions": list(questions or [_question()])})


def _run(world: World, job_id: UUID) -> None:
    attempt = world.claim()
    assert attempt.job.id == job_id
    world.run(attempt)


def _types(world: World, **changes: Any) -> World:
    """The same world, whose job types have these fields."""
    types = [replace(definition, **changes) for definition in BUILTIN]
    return replace(world, engine=replace(world.engine, registry=Registry(types)))


def _said(call: ProviderCall, role: str) -> str:
    return "".join(m["content"] for m in call.body["messages"] if m["role"] == role)


def _delimiter(call: ProviderCall) -> str:
    """The nonce between whose marks the data of a call stands."""
    begin = _said(call, "user").index("<source-") + len("<source-")
    return _said(call, "user")[begin:].partition(">")[0]


class Killed(BaseException):
    """The process ends here: nothing of it is run any more."""


@contextmanager
def killed_at(point: str, nth: int = 1) -> Iterator[None]:
    """End whatever is run at the n-th passing of a probe, as a crash does."""
    passed = 0

    def hook(reached: str) -> None:
        nonlocal passed
        passed += reached == point
        if reached == point and passed == nth:
            raise Killed

    probes.install(hook)
    try:
        with suppress(Killed):
            yield
    finally:
        probes.install(None)
    assert passed == nth, f"{point} was passed {passed} times"


def _next_attempt(world: World, job_id: UUID) -> None:
    """What follows a crash: the lease lapses, the reaper requeues, another process takes over."""
    world.lapse(job_id)
    assert Reaper(world.engine).run_once(None) == 1
    world.make_due(job_id)
    other = world.other_process()
    engine = replace(other.engine, registry=world.engine.registry)
    _run(replace(other, engine=engine), job_id)


def test_a_faulty_answer_is_repaired_in_one_more_call(
    wired: World, server: ScriptedProvider
) -> None:
    faulty = _quiz(_question(options=["same", " same ", "other"]))
    server.enqueue("ok", text=faulty)
    server.enqueue("ok", text=_quiz())
    job_id = wired.create(questionCount=1).id
    _run(wired, job_id)
    assert wired.job(job_id).lifecycle_status == "succeeded"
    assert wired.job(job_id).retry_count == 0
    first, repair = server.calls
    told = _said(repair, "user")
    assert "two options are the same" in told
    assert json.dumps(faulty) in told, "the faulty answer as one JSON string"
    for title, body in POINTS:
        assert body in _said(first, "user")
        assert title not in told and body not in told, "nothing of the source goes out again"
    assert repair.body["max_tokens"] == first.body["max_tokens"]
    assert _delimiter(first) != _delimiter(repair)
    kept = [(call.state, call.error_code, call.call_no) for call in calls(job_id)]
    assert kept == [
        ("completed", "BUSINESS_VALIDATION_FAILED", 1),
        ("completed", None, 2),
    ]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (NOT_JSON, "OUTPUT_INVALID_JSON"),
        (json.dumps({"questions": [{"question": "?"}]}), "SCHEMA_VALIDATION_FAILED"),
        (_quiz(_question(answer_index=4)), "BUSINESS_VALIDATION_FAILED"),
        (_quiz(_question(ref="k99")), "REFERENCE_VALIDATION_FAILED"),
    ],
)
def test_an_answer_that_stays_faulty_fails_the_job(
    wired: World, server: ScriptedProvider, text: str, code: str
) -> None:
    server.script("ok", text=text)
    job_id = wired.create().id
    _run(wired, job_id)
    job = wired.job(job_id)
    assert (job.lifecycle_status, job.error_code, job.retry_count) == ("failed", code, 0)
    assert [call.error_code for call in calls(job_id)] == [code, code]
    assert rows("SELECT 1 FROM ai_job_result") == []
    assert causes(job_id) == ["create", "claim", "fail"]


@pytest.mark.parametrize("rounds", [0, 1, 2])
def test_there_are_as_many_repair_rounds_as_the_definition_says(
    wired: World, server: ScriptedProvider, rounds: int
) -> None:
    server.script("ok", text=NOT_JSON)
    world = _types(wired, repair_rounds=rounds)
    job_id = world.create().id
    _run(world, job_id)
    assert world.job(job_id).error_code == "OUTPUT_INVALID_JSON"
    assert len(server.calls) == 1 + rounds
    assert len({_delimiter(call) for call in server.calls}) == 1 + rounds


@pytest.mark.parametrize("blank", ["spaces_content", "ok"])
def test_a_blank_answer_is_asked_for_again_under_another_delimiter(
    wired: World, server: ScriptedProvider, blank: str
) -> None:
    server.enqueue(blank, **({"text": ""} if blank == "ok" else {}))
    job_id = wired.create().id
    _run(wired, job_id)
    assert wired.job(job_id).lifecycle_status == "succeeded"
    first, again = server.calls
    assert _delimiter(first) != _delimiter(again)
    for role in ("system", "user"):
        asked = _said(again, role).replace(_delimiter(again), _delimiter(first))
        assert asked == _said(first, role), "the same question"


def test_an_answer_that_was_cut_is_asked_for_once_with_a_larger_limit(
    wired: World, server: ScriptedProvider
) -> None:
    server.enqueue("ok", text='{"questions": [', finish_reason="length")
    job_id = wired.create().id
    _run(wired, job_id)
    assert wired.job(job_id).lifecycle_status == "succeeded"
    first, larger = server.calls
    assert larger.body["max_tokens"] == 2 * first.body["max_tokens"]
    assert larger.body["messages"] == first.body["messages"]
    assert [call.error_code for call in calls(job_id)] == ["OUTPUT_TRUNCATED", None]


def test_a_larger_limit_comes_only_once_beside_the_repair_rounds(
    wired: World, server: ScriptedProvider
) -> None:
    """Cut, then faulty, then good: three calls. Cut again: the end, whatever rounds are left."""
    cut: dict[str, Any] = {"text": '{"questions": [', "finish_reason": "length"}
    server.enqueue("ok", **cut)
    server.enqueue("ok", text=NOT_JSON)
    server.enqueue("ok", text=_quiz())
    job_id = wired.create().id
    _run(wired, job_id)
    assert wired.job(job_id).lifecycle_status == "succeeded"
    limits = [call.body["max_tokens"] for call in server.calls]
    assert limits == [limits[0], 2 * limits[0], 2 * limits[0]]
    server.calls.clear()
    server.script("ok", **cut)
    other = wired.create().id
    _run(wired, other)
    assert wired.job(other).error_code == "OUTPUT_TRUNCATED"
    assert len(server.calls) == 2


def test_more_items_than_asked_are_left_out_and_fewer_are_told(
    wired: World, server: ScriptedProvider
) -> None:
    questions = [_question(question=f"Question {number}?") for number in range(4)]
    for count, asked, delivered in ((4, 3, 3), (1, 3, 1)):
        server.enqueue("ok", text=_quiz(*questions[:count]))
        job_id = wired.create(questionCount=asked).id
        _run(wired, job_id)
        (result,) = rows("SELECT * FROM ai_job_result WHERE job_id = %(id)s", id=job_id)
        assert (result["requested_count"], result["delivered_count"]) == (asked, delivered)
        assert len(result["output"]["questions"]) == delivered
        assert result["output_hash"] == output_hash(result["output"])
        assert result["output_hash"] == wired.job(job_id).output_hash
        assert result["state"] == "accepted"


@pytest.mark.parametrize(
    ("field", "said"), [("model", "m\x00\ud800x"), ("model", "m" * 100_000), ("model", "\u202em")]
)
def test_a_name_that_cannot_be_stored_loses_no_answer(
    wired: World, server: ScriptedProvider, field: str, said: str
) -> None:
    server.enqueue("ok", **{field: said})
    job_id = wired.create().id
    _run(wired, job_id)
    assert wired.job(job_id).lifecycle_status == "succeeded"
    (call,) = calls(job_id)
    assert call.response_model is not None
    assert call.response_model.isprintable() or "\ufffd" in call.response_model
    assert len(call.response_model) <= 200
    assert len(server.calls) == 1


def test_a_finish_reason_that_cannot_be_stored_is_an_unknown_one(
    wired: World, server: ScriptedProvider
) -> None:
    for said in ("stop\x00", "\udfff"):
        server.script("ok", finish_reason=said)
        job_id = wired.create().id
        _run(wired, job_id)
        assert wired.job(job_id).error_code == "OUTPUT_INVALID_JSON"
        assert states(job_id) == ["completed", "completed"]


@pytest.mark.parametrize("text", ['{"questions": "\ud800"}', '"\udfff', "\x00", '{"a": "\\u0000"}'])
def test_an_answer_that_cannot_be_sent_back_as_it_is_is_repaired_too(
    wired: World, server: ScriptedProvider, text: str
) -> None:
    server.enqueue("ok", text=text)
    job_id = wired.create().id
    _run(wired, job_id)
    assert wired.job(job_id).lifecycle_status == "succeeded"
    assert states(job_id) == ["completed", "completed"]


def test_a_bug_of_ours_in_reading_keeps_the_answer_that_was_paid_for(
    wired: World, server: ScriptedProvider
) -> None:
    def bug(_output: Any, _params: Any) -> tuple[str, ...]:
        raise ZeroDivisionError

    job_id = wired.create().id
    _run(_types(wired, rules=bug), job_id)
    assert wired.job(job_id).error_code == "INTERNAL_ERROR"
    assert [(call.state, call.error_code) for call in calls(job_id)] == [
        ("completed", "INTERNAL_ERROR")
    ]
    wired.make_due(job_id)
    _run(wired, job_id)
    assert wired.job(job_id).lifecycle_status == "succeeded"
    assert len(server.calls) == 1


#: Where the process dies -> (calls in all, how the job's calls ended, retries counted).
CRASHES: dict[str, tuple[int, list[str], int]] = {
    "claim.after_commit": (1, ["completed"], 1),
    "call_started.before_commit": (1, ["completed"], 1),
    "call_started.after_commit": (1, ["unknown", "completed"], 1),
    "provider_call.before_send": (1, ["unknown", "completed"], 1),
    "provider_call.after_send": (2, ["unknown", "completed"], 1),
    "execute.before_commit": (2, ["unknown", "completed"], 1),
    "execute.after_commit": (1, ["completed"], 0),
    "project.before_commit": (1, ["completed"], 0),
}


@pytest.mark.parametrize("point", CRASHES)
def test_after_a_crash_the_next_attempt_goes_on_where_it_broke_off(
    wired: World, server: ScriptedProvider, point: str
) -> None:
    sent, ended, retries = CRASHES[point]
    job_id = wired.create().id
    with killed_at(point):
        _run(wired, job_id)
    _next_attempt(wired, job_id)
    job = wired.job(job_id)
    assert (job.lifecycle_status, job.attempt_no) == ("succeeded", 2)
    assert (job.retry_count, job.crash_count) == (retries, 1)
    assert states(job_id) == ended
    assert len(server.calls) == sent
    for call in calls(job_id):
        assert call.estimated is (call.state == "unknown")
        assert call.input_tokens and call.output_tokens
    assert len(rows("SELECT 1 FROM quiz_question")) == 5
    assert rows("SELECT state FROM ai_job_result") == [{"state": "accepted"}]


def test_the_conversation_of_a_dead_attempt_is_replayed_not_repeated(
    wired: World, server: ScriptedProvider
) -> None:
    """It died with a faulty answer in the journal: the next one asks for the repair alone."""
    server.enqueue("ok", text=NOT_JSON)
    job_id = wired.create().id
    with killed_at("call_finished.after_commit"):
        _run(wired, job_id)
    _next_attempt(wired, job_id)
    assert wired.job(job_id).lifecycle_status == "succeeded"
    assert states(job_id) == ["completed", "completed"]
    assert [call.attempt_no for call in calls(job_id)] == [1, 2]
    assert NOT_JSON in _said(server.calls[1], "user")


def test_a_repair_that_was_paid_for_is_read_again(wired: World, server: ScriptedProvider) -> None:
    """It died between the second answer's commit and the verdict: nothing is asked any more."""
    server.script("ok", text=NOT_JSON)
    job_id = wired.create().id
    with killed_at("call_finished.after_commit", nth=2):
        _run(wired, job_id)
    _next_attempt(wired, job_id)
    assert wired.job(job_id).error_code == "OUTPUT_INVALID_JSON"
    assert states(job_id) == ["completed", "completed"]
    assert len(server.calls) == 2


def test_a_larger_limit_is_asked_for_once_over_all_attempts(
    wired: World, server: ScriptedProvider
) -> None:
    server.script("ok", text='{"questions": [', finish_reason="length")
    job_id = wired.create().id
    with killed_at("call_finished.after_commit"):
        _run(wired, job_id)
    _next_attempt(wired, job_id)
    assert wired.job(job_id).error_code == "OUTPUT_TRUNCATED"
    assert len(server.calls) == 2


def test_a_retry_after_a_fault_of_the_provider_keeps_what_was_answered(
    wired: World, server: ScriptedProvider
) -> None:
    server.enqueue("ok", text=NOT_JSON)
    server.enqueue("503")
    job_id = wired.create().id
    _run(wired, job_id)
    assert wired.job(job_id).retry_count == 1
    wired.make_due(job_id)
    _run(wired, job_id)
    assert wired.job(job_id).lifecycle_status == "succeeded"
    assert states(job_id) == ["completed", "failed", "completed"]
    assert len(server.calls) == 3


@pytest.mark.parametrize(("made", "more"), [(9, 1), (10, 0), (50, 0)])
def test_calls_are_counted_over_all_attempts(
    wired: World, server: ScriptedProvider, made: int, more: int
) -> None:
    """At most 2 x (1 + 3 retries + 1 repair round)."""
    server.script("ok", text=NOT_JSON)
    job_id = wired.create().id
    rows("UPDATE ai_job SET call_count = %(made)s WHERE id = %(id)s", made=made, id=job_id)
    _run(wired, job_id)
    job = wired.job(job_id)
    assert (job.lifecycle_status, job.error_code) == ("failed", "OUTPUT_INVALID_JSON")
    assert (len(server.calls), job.call_count) == (more, made + more)


def test_a_newer_definition_with_the_same_output_projects_what_was_validated(
    wired: World, server: ScriptedProvider
) -> None:
    """Even under rules that would not let it pass any more: it was paid for and checked."""
    job_id = wired.create().id
    with killed_at("execute.after_commit"):
        _run(wired, job_id)

    def rules(_output: Any, _params: Any) -> tuple[str, ...]:
        return ("not any more",)

    newer = _types(wired, version=2, rules=rules)
    _next_attempt(newer, job_id)
    assert newer.job(job_id).lifecycle_status == "succeeded"
    assert len(server.calls) == 1


@pytest.mark.parametrize(("fits", "sent"), [(True, 1), (False, 2)])
def test_a_newer_output_schema_checks_again_and_asks_again_if_need_be(
    wired: World, server: ScriptedProvider, fits: bool, sent: int
) -> None:
    job_id = wired.create().id
    with killed_at("execute.after_commit"):
        _run(wired, job_id)

    def rules(output: Any, _params: Any) -> tuple[str, ...]:
        return () if fits or len(server.calls) > 1 else ("not any more",)

    newer = _types(wired, version=2, output_schema_version="2", rules=rules)
    _next_attempt(newer, job_id)
    job = newer.job(job_id)
    assert (job.lifecycle_status, len(server.calls)) == ("succeeded", sent)
    assert rows("SELECT state FROM ai_job_result") == [{"state": "accepted"}]
