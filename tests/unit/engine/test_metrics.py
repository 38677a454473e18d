"""The counters of executors: what a call, an end, a retry and a pass add, and to which words."""

from __future__ import annotations

import pytest

from aijobs.engine.metrics import OWN_KEY, Asked, Meters
from aijobs.models.journal import CallOutcome

PLATFORM = Asked("deepseek", "deepseek-flash")
PAID = CallOutcome("completed", 1500, input_tokens=100, output_tokens=50, cost_micro_usd=250_000)


def _told(meters: Meters) -> dict[str, dict[tuple[str, ...], float]]:
    """Counters alone: sample -> label values -> value."""
    told: dict[str, dict[tuple[str, ...], float]] = {}
    for metric in meters.collect():
        for sample in metric.samples:
            if sample.name.endswith("_total"):
                told.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
    return told


def test_an_answered_call_adds_its_tokens_and_its_cost_in_dollars() -> None:
    meters = Meters()
    for _ in range(2):
        meters.count_call(PLATFORM, PAID)
    told = _told(meters)
    route = ("deepseek", "deepseek-flash")
    assert told["aijobs_calls_total"] == {(*route, "ok"): 2}
    assert told["aijobs_call_tokens_total"] == {(*route, "input"): 200, (*route, "output"): 100}
    assert told["aijobs_call_cost_usd_total"] == {route: 0.5}


def test_a_calls_duration_is_counted_in_seconds() -> None:
    meters = Meters()
    meters.count_call(PLATFORM, PAID)
    [metric] = [metric for metric in meters.collect() if metric.name == "aijobs_call_seconds"]
    values = {sample.name: sample.value for sample in metric.samples}
    assert values["aijobs_call_seconds_sum"] == 1.5
    reached = [s.labels["le"] for s in metric.samples if s.name.endswith("_bucket") and s.value]
    assert float(reached[0]) == 2.5


@pytest.mark.parametrize(
    ("outcome", "word"),
    [
        (CallOutcome("completed", 1), "ok"),
        (CallOutcome("completed", 1, error_code="OUTPUT_INVALID_JSON"), "OUTPUT_INVALID_JSON"),
        (CallOutcome("failed", 1, error_code="PROVIDER_TIMEOUT"), "PROVIDER_TIMEOUT"),
        (CallOutcome("cut", 1), "cut"),
    ],
)
def test_a_call_ends_in_one_word(outcome: CallOutcome, word: str) -> None:
    meters = Meters()
    meters.count_call(OWN_KEY, outcome)
    told = _told(meters)
    assert told["aijobs_calls_total"] == {("own_key", "", word): 1}
    assert set(told["aijobs_call_tokens_total"].values()) == {0}


@pytest.mark.parametrize(
    ("reported", "word"),
    [("JOB_TIMEOUT", "JOB_TIMEOUT"), ("whatever a runtime says", "other"), (None, ""), ("", "")],
)
def test_an_end_has_a_code_of_ours_or_none(reported: str | None, word: str) -> None:
    meters = Meters()
    meters.count_end("quiz_generation", "failed", reported)
    assert _told(meters)["aijobs_job_ends_total"] == {("quiz_generation", "failed", word): 1}


def test_two_engines_in_a_process_count_apart() -> None:
    one, other = Meters(), Meters()
    one.count_pass("reaper", "succeeded")
    one.count_retry("quiz_generation", "PROVIDER_TIMEOUT")
    assert _told(one)["aijobs_passes_total"] == {("reaper", "succeeded"): 1}
    assert _told(one)["aijobs_job_retries_total"] == {("quiz_generation", "PROVIDER_TIMEOUT"): 1}
    assert _told(other) == {}
