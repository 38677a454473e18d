"""What the database says, as metrics: the same from every process, since all of them read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from aijobs.engine.engine import Engine
from aijobs.engine.limits import platform_budget
from aijobs.models.observed import Observed, ObservedCircuit, ObservedJobs
from aijobs.models.tables.platform import CIRCUIT_STATES
from aijobs.models.transitions import STATUSES, TERMINAL

_MICRO_USD = 1_000_000
_UNFINISHED = tuple(status for status in STATUSES if status not in TERMINAL)


def observed_metrics(engine: Engine, found: Observed | None) -> Iterator[Metric]:
    """Families of the facts found; None: nothing could be read."""
    up = GaugeMetricFamily("aijobs_database_up", "Whether the database answered this scrape.")
    up.add_metric((), float(found is not None))
    yield up
    if found is not None:
        yield from _of_circuits(_with_configured(engine, found.circuits))
        yield from _of_jobs(_queues(engine, found.jobs), found.jobs)
        yield from _of_outbox(found)
        yield from _of_day(engine, found)
        yield _of_passes(found)


def _with_configured(engine: Engine, found: Iterable[ObservedCircuit]) -> Iterable[ObservedCircuit]:
    """A route that never failed has no row."""
    routes = {route for routes in engine.circuit_routes().values() for route in routes}
    circuits = {route: ObservedCircuit(*route) for route in sorted(routes)}
    return (circuits | {(one.provider, one.model): one for one in found}).values()


def _of_circuits(circuits: Iterable[ObservedCircuit]) -> Iterator[Metric]:
    route = ("provider", "model")
    state = GaugeMetricFamily(
        "aijobs_circuit_state", "1 for the state of the route's circuit.", labels=(*route, "state")
    )
    changes = CounterMetricFamily(
        "aijobs_circuit_changes", "Changes of the route's circuit.", labels=route
    )
    failures = GaugeMetricFamily(
        "aijobs_circuit_consecutive_failures", "Failures since its last success.", labels=route
    )
    for one in circuits:
        names = (one.provider, one.model)
        for word in CIRCUIT_STATES:
            state.add_metric((*names, word), float(one.state == word))
        changes.add_metric(names, one.epoch)
        failures.add_metric(names, one.consecutive_failures)
    yield from (state, changes, failures)


def _queues(engine: Engine, found: Iterable[ObservedJobs]) -> list[str]:
    known = {definition.queue_name for definition in engine.registry}
    return sorted(known | {jobs.queue_name for jobs in found})


def _of_jobs(queues: list[str], found: list[ObservedJobs]) -> Iterator[Metric]:
    """Every queue and status, so that none is a gap in a graph."""
    counts = {(jobs.queue_name, jobs.status): jobs.count for jobs in found}
    ages = {jobs.queue_name: jobs.oldest_seconds for jobs in found if jobs.status == "queued"}
    under_way = GaugeMetricFamily(
        "aijobs_jobs", "Unfinished jobs by status.", labels=("queue", "status")
    )
    oldest = GaugeMetricFamily(
        "aijobs_queue_oldest_seconds", "Wait of the job that is due longest.", labels=("queue",)
    )
    for queue in queues:
        for status in _UNFINISHED:
            under_way.add_metric((queue, status), counts.get((queue, status), 0))
        oldest.add_metric((queue,), ages.get(queue) or 0.0)
    yield from (under_way, oldest)
    yield GaugeMetricFamily(
        "aijobs_jobs_lapsed",
        "Active jobs whose lease lapsed more than two sweeps ago; must be 0.",
        value=sum(jobs.missed for jobs in found),
    )
    yield GaugeMetricFamily(
        "aijobs_jobs_cancel_requested",
        "Jobs whose holder has not yet heeded a cancel.",
        value=sum(jobs.cancelling for jobs in found),
    )


def _of_outbox(found: Observed) -> Iterator[Metric]:
    events = GaugeMetricFamily(
        "aijobs_outbox_events", "Unpublished events by status.", labels=("status",)
    )
    for one in found.events:
        events.add_metric((one.status,), one.count)
    yield events
    yield GaugeMetricFamily(
        "aijobs_outbox_oldest_seconds",
        "Wait of the event that is due longest.",
        value=max((one.oldest_seconds or 0.0 for one in found.events), default=0.0),
    )


def _of_day(engine: Engine, found: Observed) -> Iterator[Metric]:
    day, budget = found.day, platform_budget(engine.settings)
    tokens = GaugeMetricFamily(
        "aijobs_platform_tokens", "Tokens of the platform's UTC day.", labels=("kind",)
    )
    cost = GaugeMetricFamily(
        "aijobs_platform_cost_usd", "Cost of the platform's UTC day.", labels=("kind",)
    )
    tokens.add_metric(("limit",), budget.tokens)
    cost.add_metric(("limit",), budget.cost_micro_usd / _MICRO_USD)
    for kind in ("used", "reserved", "overrun"):
        tokens.add_metric((kind,), getattr(day, f"tokens_{kind}"))
        cost.add_metric((kind,), getattr(day, f"cost_{kind}") / _MICRO_USD)
    yield from (tokens, cost)


def _of_passes(found: Observed) -> Metric:
    passes = GaugeMetricFamily(
        "aijobs_pass_last_success_timestamp_seconds",
        "When a periodic pass last succeeded.",
        labels=("pass",),
    )
    for name, succeeded_at in sorted(found.passes.items()):
        passes.add_metric((name,), succeeded_at)
    return passes
