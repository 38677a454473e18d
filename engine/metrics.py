"""What executors count: calls, ends and retries of jobs, passes.

Invariant: a label is one of few words of ours, never text of a user, a runtime or a provider.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    Metric,
    disable_created_metrics,
)

from aijobs.engine.errors import ERRORS
from aijobs.engine.shared_counts import merged, share
from aijobs.models.journal import CallOutcome

_CALL_SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600)
_MICRO_USD = 1_000_000


@dataclass(frozen=True, slots=True)
class Asked:
    """Who was asked, as labels."""

    provider: str
    model: str


#: Provider and model of a user's own key are the user's words.
OWN_KEY = Asked("own_key", "")


class Meters:
    """The counters of a process; those of all that were given the same directory make one sum."""

    def __init__(self, directory: Path | None = None) -> None:
        """Raises OSError when the directory cannot be used."""
        if directory is not None:
            share(directory)
        disable_created_metrics()  # when a process began says nothing of a sum over many
        self._directory = directory
        self._registry = CollectorRegistry()
        self._calls = self._counter(
            "aijobs_calls", "Provider calls by how they ended.", "provider", "model", "outcome"
        )
        self._call_seconds = Histogram(
            "aijobs_call_seconds",
            "Duration of provider calls.",
            ("provider", "model"),
            buckets=_CALL_SECONDS,
            registry=self._registry,
        )
        self._tokens = self._counter(
            "aijobs_call_tokens",
            "Tokens of provider calls, as the provider counted them.",
            *("provider", "model", "direction"),
        )
        self._cost = self._counter(
            "aijobs_call_cost_usd", "Cost of provider calls, by our prices.", "provider", "model"
        )
        self._ends = self._counter(
            "aijobs_job_ends", "Jobs that ended.", "job_type", "status", "error_code"
        )
        self._retries = self._counter(
            "aijobs_job_retries", "Attempts to be repeated.", "job_type", "error_code"
        )
        self._passes = self._counter(
            "aijobs_passes", "Periodic passes by how they ended.", "pass", "result"
        )

    def collect(self, registry: CollectorRegistry | None = None) -> Iterable[Metric]:
        """What all sharing processes have counted; without a directory what this one has, in
        `registry` too."""
        if self._directory is not None:
            return merged(self._directory)
        others = () if registry is None else registry.collect()
        return (*self._registry.collect(), *others)

    def count_call(self, asked: Asked, outcome: CallOutcome) -> None:
        """A call that has ended. What nobody has counted is left out."""
        labels = (asked.provider, asked.model)
        ended = outcome.error_code or ("ok" if outcome.state == "completed" else outcome.state)
        self._calls.labels(*labels, ended).inc()
        self._call_seconds.labels(*labels).observe(outcome.latency_ms / 1000)
        for direction in ("input", "output"):
            tokens = getattr(outcome, f"{direction}_tokens")
            self._tokens.labels(*labels, direction).inc(tokens or 0)
        self._cost.labels(*labels).inc((outcome.cost_micro_usd or 0) / _MICRO_USD)

    def count_end(self, job_type: str, status: str, error_code: str | None) -> None:
        """A job that has ended."""
        self._ends.labels(job_type, status, _code(error_code)).inc()

    def count_retry(self, job_type: str, error_code: str) -> None:
        """A job that goes back to its queue after a fault."""
        self._retries.labels(job_type, _code(error_code)).inc()

    def count_pass(self, name: str, result: str) -> None:
        """A periodic pass that has run."""
        self._passes.labels(name, result).inc()

    def _counter(self, name: str, told: str, *labels: str) -> Counter:
        return Counter(name, told, labels, registry=self._registry)


def _code(error_code: str | None) -> str:
    """A runtime may report what it likes."""
    if not error_code:
        return ""
    return error_code if error_code in ERRORS else "other"
