"""Periodic passes: each on its own, once at a time, and overdue ones without any message."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import dramatiq
import pytest
import structlog
from dramatiq.brokers.stub import StubBroker
from dramatiq.middleware import CurrentMessage
from periodiq import PeriodiqMiddleware

from aijobs.actors import periodic
from aijobs.actors.bells import Bells
from aijobs.actors.broker import WakingBroker
from aijobs.actors.passes import Pass, Passes, Ticker, all_passes
from aijobs.engine.metrics import Meters
from aijobs.models import database as db
from aijobs.models import maintenance
from tests.eventually import eventually
from tests.integration.engine.seen import rows
from tests.world import World, whole_database

WAIT_SECONDS = 30
INTERVAL = 30.0


class _Work:
    """Counts its runs and what it was told; `does` happens in each."""

    def __init__(self, does: Callable[[], int] = lambda: 0) -> None:
        self.told: list[float | None] = []
        self._does = does

    def __call__(self, since: float | None) -> int:
        self.told.append(since)
        return self._does()


def _passes(worked: list[str] | None = None, **works: Callable[[float | None], int]) -> Passes:
    told = [] if worked is None else worked
    return Passes(
        [Pass(name, INTERVAL, work) for name, work in works.items()], lambda: told.append("worked")
    )


def _age(seconds: float) -> None:
    rows(
        "UPDATE maintenance_pass SET last_started_at = last_started_at - %(s)s * interval "
        "'1 second', last_succeeded_at = last_succeeded_at - %(s)s * interval '1 second'",
        s=seconds,
    )


def _raise(error: BaseException) -> int:
    raise error


def test_what_is_due_runs_once(here: World) -> None:
    first, second = _Work(), _Work()
    passes = _passes(first=first, second=second)
    passes.run_due()
    passes.run_due()
    assert (first.told, second.told) == ([None], [None])
    _age(INTERVAL)
    passes.run_due()
    assert len(first.told) == len(second.told) == 2
    assert first.told[1] == pytest.approx(INTERVAL, abs=10)


def test_a_pass_that_comes_a_little_early_does_not_wait_for_the_next_round(here: World) -> None:
    work = _Work()
    passes = _passes(work=work)
    for age, runs in ((0.0, 1), (INTERVAL * 0.5, 1), (INTERVAL * 0.2, 2)):
        _age(age)
        passes.run_due()
        assert len(work.told) == runs


def test_one_that_fails_stops_no_other_and_is_on_record(here: World) -> None:
    before, after = _Work(lambda: 3), _Work(lambda: 1)
    worked: list[str] = []
    faulty = _Work(lambda: _raise(ZeroDivisionError("a bug")))
    passes = _passes(worked, before=before, faulty=faulty, after=after)
    with structlog.testing.capture_logs() as logs:
        passes.run_due()
    assert (len(before.told), len(faulty.told), len(after.told)) == (1, 1, 1)
    assert worked == ["worked", "worked"]
    (told,) = [line for line in logs if line["event"] == "pass_failed"]
    assert (told["name"], told["log_level"]) == ("faulty", "warning")
    found = {row["name"]: row for row in rows("SELECT * FROM maintenance_pass")}
    assert found["faulty"]["last_error"] == "ZeroDivisionError: a bug"
    assert found["faulty"]["last_succeeded_at"] is None
    assert found["before"]["last_error"] is None
    assert found["before"]["last_succeeded_at"] is not None
    passes.run_due()
    assert len(faulty.told) == 1, "it is not tried again before its time"
    _age(INTERVAL)
    passes.run_due()
    assert len(faulty.told) == 2


def test_each_run_is_counted_by_how_it_ended(here: World) -> None:
    meters = Meters()
    ends: dict[str, Callable[[], int]] = {
        "idle": lambda: 0,
        "faulty": lambda: _raise(ZeroDivisionError("a bug")),
        "patient": lambda: _raise(maintenance.Waiting("for leases")),
    }
    works = [Pass(name, INTERVAL, _Work(does)) for name, does in ends.items()]
    passes = Passes(works, lambda: None, meters)
    passes.run_due()
    passes.run_due()
    told = [
        (sample.labels["pass"], sample.labels["result"], sample.value)
        for metric in meters.collect()
        for sample in metric.samples
    ]
    assert sorted(told) == [
        ("faulty", "failed", 1),
        ("idle", "succeeded", 1),
        ("patient", "waiting", 2),
    ]


def test_one_that_waits_is_no_failure_and_no_success(here: World) -> None:
    worked: list[str] = []
    work = _Work(lambda: _raise(maintenance.Waiting("for leases")))
    passes = _passes(worked, work=work)
    before = whole_database()
    with structlog.testing.capture_logs() as logs:
        passes.run_due()
        passes.run_due()
    assert len(work.told) == 2, "so it is tried again in the next round"
    assert whole_database() == before
    assert worked == []
    assert [line["event"] for line in logs] == ["pass_waits", "pass_waits"]


def test_two_at_once_run_it_once(here: World) -> None:
    inside, over = threading.Event(), threading.Event()

    def linger() -> int:
        inside.set()
        assert over.wait(WAIT_SECONDS)
        return 1

    work, other = _Work(linger), _Work()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(_passes(work=work).run_due)
        assert inside.wait(WAIT_SECONDS)
        _passes(work=work, other=other).run_due()
        assert (len(work.told), len(other.told)) == (1, 1), "it left the one that runs elsewhere"
        over.set()
        first.result(WAIT_SECONDS)
    assert len(work.told) == 1


def test_nothing_done_is_nothing_to_tell_the_relay(here: World) -> None:
    worked: list[str] = []
    _passes(worked, idle=_Work(), busy=_Work(lambda: 2)).run_due()
    assert worked == ["worked"]


def test_the_ticker_runs_what_has_missed_two_intervals_and_nothing_else(here: World) -> None:
    late, punctual = _Work(), _Work()
    passes = _passes(late=late, punctual=punctual)
    passes.run_due()
    rows(
        "UPDATE maintenance_pass SET last_started_at = now() - CASE name WHEN 'late' "
        "THEN interval '61 seconds' ELSE interval '59 seconds' END"
    )
    passes.run_overdue()
    assert (len(late.told), len(punctual.told)) == (2, 1)


def test_the_ticker_goes_on_whatever_happens_and_stops_when_asked(here: World) -> None:
    looks = threading.Semaphore(0)

    class Broken(Passes):
        def run_overdue(self) -> None:
            looks.release()
            raise ZeroDivisionError

    ticker = Ticker(Broken([], lambda: None), 0.01)
    thread = threading.Thread(target=ticker.run, daemon=True)
    with structlog.testing.capture_logs() as logs:
        thread.start()
        for _ in range(3):
            assert looks.acquire(timeout=WAIT_SECONDS)
        ticker.stop()
        thread.join(WAIT_SECONDS)
    assert not thread.is_alive()
    assert {line["event"] for line in logs} == {"ticker_failed"}


def test_a_ticker_needs_no_broker(here: World, broker: WakingBroker) -> None:
    """Without Redis the reaper still reaps."""
    job_id = here.create().id
    here.engine.attempts.remove(here.claim())
    here.lapse(job_id)
    broker.client.close()
    ticker = Ticker(all_passes(here.engine, broker, lambda: None), 0.05)
    thread = threading.Thread(target=ticker.run, daemon=True)
    thread.start()
    try:
        eventually(lambda: here.job(job_id).lifecycle_status == "queued", WAIT_SECONDS)
    finally:
        ticker.stop()
        thread.join(WAIT_SECONDS)


def test_without_a_database_they_wait(here: World) -> None:
    work = _Work()
    db.connect_to("postgresql://nobody@127.0.0.1:1/nothing", connections=2)
    with structlog.testing.capture_logs() as logs:
        _passes(work=work).run_due()
        _passes(work=work).run_overdue()
    assert work.told == []
    assert [line["event"] for line in logs] == ["passes_wait", "passes_wait"]


def test_a_database_that_goes_away_within_a_pass_stops_nothing(here: World) -> None:
    def away() -> int:
        db.connect_to("postgresql://nobody@127.0.0.1:1/nothing", connections=2)
        raise ZeroDivisionError

    with structlog.testing.capture_logs() as logs:
        _passes(away=_Work(away)).run_due()
    assert [line["event"] for line in logs] == ["pass_failed", "pass_failure_not_recorded"]


def test_the_passes_of_a_system_worker(here: World, broker: WakingBroker) -> None:
    worked: list[str] = []
    passes = all_passes(here.engine, broker, lambda: worked.append("worked"))
    here.create()
    rows(
        "UPDATE outbox_event SET status = 'processing', locked_by = 'gone', "
        "locked_at = now() - interval '1 hour'"
    )
    passes.run_due()
    found = rows(
        "SELECT name, last_succeeded_at IS NOT NULL AS ok, last_error FROM maintenance_pass"
    )
    assert {row["name"] for row in found} >= {"reaper", "sweep", "outbox_release", "purge"}
    assert all(row["ok"] and row["last_error"] is None for row in found)
    assert [row["status"] for row in rows("SELECT status FROM outbox_event")] == ["pending"]
    assert worked, "the relay is told of what was released"


class _Counted(Passes):
    """Passes that only count their rounds."""

    def __init__(self) -> None:
        super().__init__([], lambda: None)
        self.rounds = 0

    def run_due(self) -> None:
        self.rounds += 1


def _maintain(interval: float, **options: Any) -> tuple[int, list[int]]:
    """Rounds run and delays of the messages sent (ms) when `maintain` is run for one message."""
    broker = StubBroker(middleware=[CurrentMessage(), PeriodiqMiddleware()])
    counted = _Counted()
    actor = periodic.declare(broker, lambda: counted, interval)
    message = dramatiq.broker.MessageProxy(actor.message_with_options(**options))
    broker.emit_before("process_message", message)
    actor.fn()
    broker.emit_after("process_message", message)
    delays = []
    delayed = broker.queues["system.DQ"]
    while not delayed.empty():
        sent = dramatiq.Message.decode(delayed.get_nowait())
        assert "scheduled_at" not in sent.options, "a finer step makes no steps of its own"
        delays.append(round((sent.options["eta"] - sent.message_timestamp) / 1000))
    return counted.rounds, delays


def test_a_reminder_that_redis_does_not_take_is_lost_quietly() -> None:
    """periodiq ends at any error of a send; the ticker runs what is overdue."""
    broker = WakingBroker("redis://127.0.0.1:1/0", [PeriodiqMiddleware()], Bells())
    actor = periodic.declare(broker, _Counted, 30.0)
    with structlog.testing.capture_logs() as logs:
        assert actor.send() is None
        assert actor.send_with_options(delay=1000) is None
    assert [line["event"] for line in logs] == ["reminder_lost"] * 2


@pytest.mark.parametrize(
    ("interval", "delays"),
    [(30.0, [30]), (20.0, [20, 40]), (60.0, []), (90.0, []), (25.0, [25, 50])],
)
def test_every_minute_is_cut_into_the_finer_steps(interval: float, delays: list[int]) -> None:
    scheduled = {"scheduled_at": dt.datetime.now(dt.UTC).isoformat()}
    assert _maintain(interval, **scheduled) == (1, delays)
    assert _maintain(interval) == (1, [])
