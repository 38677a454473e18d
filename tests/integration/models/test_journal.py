"""The journal of calls: committed before, completed after, never two rows for one call."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from peewee import OperationalError
from uuid_utils.compat import uuid7

from aijobs.engine import stages
from aijobs.models import database as db
from aijobs.models import journal, probes, results
from aijobs.models.errors import DatabaseAway, LeaseLost
from aijobs.models.journal import (
    CallOutcome,
    NewCall,
    answer_of,
    calls_of,
    finish_call,
    finish_with_result,
    start_call,
)
from aijobs.models.lifecycle import Lease, succeed
from aijobs.models.results import Validated
from tests.integration.models.edges import nothing_changes
from tests.integration.models.rivals import losing
from tests.integration.models.states import hasty, running, sql, take_over
from tests.world import World

ANSWERED = CallOutcome(
    state="completed",
    latency_ms=812,
    http_status=200,
    finish_reason="stop",
    response_model="model-2026-11",
    input_tokens=410,
    cached_tokens=64,
    output_tokens=220,
    reasoning_tokens=0,
    cost_micro_usd=391,
    raw_response='{"text": "an answer"}',
)
VALIDATED = Validated(
    output={"questions": [{"question": "?"}]},
    output_hash="o" * 64,
    snapshot_hash="s" * 64,
    requested_count=5,
    delivered_count=1,
)


def _call(request_hash: str = "r" * 64) -> NewCall:
    return NewCall(
        id=uuid7(),
        tier="standard",
        provider="openai",
        model="model",
        prompt_key="quiz_generation",
        prompt_version="v1",
        request_hash=request_hash,
        input_bound=900,
        output_bound=8000,
    )


def _start(lease: Lease, call: NewCall | None = None) -> int:
    return start_call(lease, call or _call(), lease_seconds=60, patient=hasty)


def _finish(lease: Lease, call_no: int, outcome: CallOutcome = ANSWERED) -> None:
    finish_call(lease, call_no, outcome, patient=hasty)


def _rows() -> list[dict[str, Any]]:
    return sql("SELECT * FROM ai_usage_log ORDER BY call_no")


def test_a_call_is_in_the_books_before_it_begins(here: World) -> None:
    lease = running(here)
    assert _start(lease) == 1
    (row,) = _rows()
    job = here.job(lease.job_id)
    known = {
        "job_id": job.id,
        "user_id": job.user_id,
        "attempt_no": 1,
        "call_no": 1,
        "call_id": "1-1",
        "state": "started",
        "tier": "standard",
        "provider": "openai",
        "model": "model",
        "credential_mode": "platform_key",
        "prompt_key": "quiz_generation",
        "prompt_version": "v1",
        "request_hash": "r" * 64,
        "input_tokens": 900,
        "output_tokens": 8000,
        "estimated": True,
        "success": None,
        "finished_at": None,
    }
    assert {name: row[name] for name in known} == known
    assert (job.call_count, job.stage, job.model_provider, job.model_name) == (
        1,
        "EXECUTE",
        "openai",
        "model",
    )


def test_calls_are_numbered_through_all_attempts(here: World) -> None:
    lease = running(here)
    assert [_start(lease), _start(lease)] == [1, 2]
    second = take_over(here.other_process(), lease.job_id)
    assert _start(second) == 3
    assert [call.call_id for call in db.read(lambda: calls_of(lease.job_id))] == [
        "1-1",
        "1-2",
        "2-3",
    ]


def test_an_answer_completes_its_row(here: World) -> None:
    lease = running(here)
    _finish(lease, _start(lease))
    (row,) = _rows()
    told = {name: row[name] for name in ("state", "latency_ms", "http_status", "finish_reason")}
    assert told == {
        "state": "completed",
        "latency_ms": 812,
        "http_status": 200,
        "finish_reason": "stop",
    }
    tokens = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")
    assert [row[name] for name in tokens] == [410, 64, 220, 0]
    assert (row["estimated"], row["success"], row["cost_micro_usd"]) == (False, True, 391)
    assert (row["response_model"], row["raw_response"]) == (
        "model-2026-11",
        '{"text": "an answer"}',
    )
    assert row["finished_at"] is not None


@pytest.mark.parametrize(
    ("told", "input_tokens", "output_tokens"),
    [
        (replace(ANSWERED, input_tokens=None), 900, 220),
        (replace(ANSWERED, output_tokens=None), 410, 8000),
    ],
)
def test_tokens_that_nobody_told_stay_at_the_bound_and_are_marked(
    here: World, told: CallOutcome, input_tokens: int, output_tokens: int
) -> None:
    lease = running(here)
    _finish(lease, _start(lease), told)
    (row,) = _rows()
    assert (row["input_tokens"], row["output_tokens"]) == (input_tokens, output_tokens)
    assert row["estimated"] is True


def test_an_explicit_zero_is_zero(here: World) -> None:
    lease = running(here)
    _finish(lease, _start(lease), replace(ANSWERED, input_tokens=0, output_tokens=0))
    (row,) = _rows()
    assert (row["input_tokens"], row["output_tokens"], row["estimated"]) == (0, 0, False)


@pytest.mark.parametrize("state", ["failed", "cut"])
def test_a_call_that_brought_nothing_is_no_success(here: World, state: str) -> None:
    lease = running(here)
    _finish(
        lease,
        _start(lease),
        CallOutcome(state=state, latency_ms=5, error_code="PROVIDER_TIMEOUT"),
    )
    (row,) = _rows()
    assert (row["state"], row["success"], row["error_code"], row["estimated"]) == (
        state,
        False,
        "PROVIDER_TIMEOUT",
        True,
    )


def test_a_call_ends_once(here: World) -> None:
    lease = running(here)
    call_no = _start(lease)
    _finish(lease, call_no)
    with nothing_changes():
        _finish(lease, call_no, CallOutcome(state="failed", latency_ms=1))


def test_the_next_attempts_call_closes_what_an_earlier_one_left_open(here: World) -> None:
    lease = running(here)
    _finish(lease, _start(lease), CallOutcome(state="failed", latency_ms=1))
    _start(lease)
    second = take_over(here.other_process(), lease.job_id)
    _start(second)
    rows = [(row["call_id"], row["state"], row["success"], row["estimated"]) for row in _rows()]
    assert rows == [
        ("1-1", "failed", False, True),
        ("1-2", "unknown", False, True),
        ("2-3", "started", None, True),
    ]
    assert [row["output_tokens"] for row in _rows()] == [8000] * 3


def test_a_second_call_of_an_attempt_leaves_its_first_one_open(here: World) -> None:
    lease = running(here)
    _start(lease)
    _start(lease)
    assert [row["state"] for row in _rows()] == ["started", "started"]


# The answer, found again.


def test_a_completed_answer_is_found_by_its_request_whoever_asks(here: World) -> None:
    lease = running(here)
    _finish(lease, _start(lease))
    found = db.read(lambda: answer_of(lease.job_id, "r" * 64))
    assert found == '{"text": "an answer"}'
    assert db.read(lambda: answer_of(lease.job_id, "x" * 64)) is None
    assert db.read(lambda: answer_of(uuid7(), "r" * 64)) is None


def test_the_first_of_two_answers_is_the_one(here: World) -> None:
    lease = running(here)
    for text in ("first", "second"):
        _finish(lease, _start(lease), replace(ANSWERED, raw_response=text))
    assert db.read(lambda: answer_of(lease.job_id, "r" * 64)) == "first"


@pytest.mark.parametrize("state", ["failed", "cut", "unknown"])
def test_only_a_completed_call_has_an_answer(here: World, state: str) -> None:
    lease = running(here)
    _finish(lease, _start(lease), replace(ANSWERED, state=state))
    assert db.read(lambda: answer_of(lease.job_id, "r" * 64)) is None


def test_a_call_that_outlasts_its_job_leaves_no_raw_answer(here: World) -> None:
    lease = running(here)
    call_no = _start(lease)
    succeed(take_over(here.other_process(), lease.job_id), output_hash="2" * 64)
    stages.complete(lease.job_id)
    _finish(lease, call_no)
    (row,) = _rows()
    assert (row["state"], row["raw_response"], row["output_tokens"]) == ("completed", None, 220)


def test_calls_refused_for_the_account_or_the_key_do_not_count(here: World) -> None:
    lease = running(here)
    assert db.read(lambda: journal.refused_calls(lease.job_id)) == (0, None)
    for code in ("PROVIDER_TIMEOUT", "PROVIDER_ACCOUNT", "OUTPUT_EMPTY", "CREDENTIAL_INVALID"):
        _finish(lease, _start(lease), CallOutcome(state="failed", latency_ms=1, error_code=code))
    assert db.read(lambda: journal.refused_calls(lease.job_id)) == (2, "OUTPUT_EMPTY")
    _start(lease)
    assert db.read(lambda: journal.refused_calls(lease.job_id)) == (2, "OUTPUT_EMPTY")


# The checkpoint of EXECUTE.


def test_the_answer_and_its_result_are_one_commit(here: World) -> None:
    lease = running(here)
    call_no = _start(lease)
    finish_with_result(lease, (call_no, ANSWERED), VALIDATED, lease_seconds=60, patient=hasty)
    assert [row["state"] for row in _rows()] == ["completed"]
    found = db.read(lambda: results.validated_result(lease.job_id))
    assert found is not None
    assert (found.state, found.output, found.attempt_no) == ("validated", VALIDATED.output, 1)
    assert (found.requested_count, found.delivered_count) == (5, 1)
    assert found.result_key == f"{lease.job_id}:1:{'o' * 64}"
    assert found.submitted_by == here.engine.holder
    job = here.job(lease.job_id)
    assert (job.stage, job.progress, job.output_hash) == ("EXECUTE", 70, "o" * 64)


def test_a_later_attempts_result_replaces_one_that_was_not_accepted(here: World) -> None:
    lease = running(here)
    finish_with_result(lease, None, VALIDATED, lease_seconds=60, patient=hasty)
    second = take_over(here.other_process(), lease.job_id)
    other = replace(VALIDATED, output={"questions": []}, output_hash="p" * 64)
    finish_with_result(second, None, other, lease_seconds=60, patient=hasty)
    found = db.read(lambda: results.validated_result(lease.job_id))
    assert found is not None
    assert (found.attempt_no, found.output_hash) == (2, "p" * 64)
    assert found.result_key == f"{lease.job_id}:2:{'p' * 64}"


# Commits whose answer was lost.


def test_a_lost_answer_to_the_start_leaves_one_row_and_its_number(here: World) -> None:
    lease = running(here)
    losing("call_started.after_commit")
    assert _start(lease) == 1
    assert [row["call_id"] for row in _rows()] == ["1-1"]
    assert here.job(lease.job_id).call_count == 1


def test_a_start_that_did_not_commit_is_made_again(here: World) -> None:
    lease = running(here)
    losing("call_started.before_commit")
    assert _start(lease) == 1
    assert [row["call_id"] for row in _rows()] == ["1-1"]


def test_who_lost_the_lease_together_with_the_answer_does_not_call(here: World) -> None:
    lease = running(here)
    losing("call_started.after_commit", lambda: take_over(here.other_process(), lease.job_id))
    with pytest.raises(LeaseLost):
        _start(lease)
    assert [row["state"] for row in _rows()] == ["started"]


def test_a_lost_answer_to_the_result_is_no_second_result(here: World) -> None:
    lease = running(here)
    call_no = _start(lease)
    losing("execute.after_commit")
    finish_with_result(lease, (call_no, ANSWERED), VALIDATED, lease_seconds=60, patient=hasty)
    assert [row["state"] for row in _rows()] == ["completed"]
    assert sql("SELECT count(*) AS n FROM ai_job_result") == [{"n": 1}]


def test_without_patience_a_second_loss_ends_the_start(here: World) -> None:
    lease = running(here)

    def hook(reached: str) -> None:
        raise OperationalError("server closed the connection unexpectedly")

    probes.install(hook)
    with pytest.raises(DatabaseAway):
        _start(lease)
    probes.install(None)
    assert journal.calls_of(lease.job_id) == []
