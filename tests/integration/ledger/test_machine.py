"""Whatever happens to jobs, in whatever order: the ledger says what the plain one works out."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from uuid_utils.compat import uuid7

from aijobs.engine.stages import complete
from aijobs.models import database as db
from aijobs.models import doctor, users
from aijobs.models.errors import IllegalTransition, NoRoom
from aijobs.models.journal import (
    CallOutcome,
    NewCall,
    finish_call,
    finish_with_result,
    start_call,
)
from aijobs.models.ledger import Bound, Budget, UserLimits, pass_gate
from aijobs.models.lifecycle import (
    Lease,
    cancel,
    confirm_cancel,
    create,
    expire,
    fail,
    give_up,
    hand_back,
    release_for_retry,
    request_cancel,
    requeue,
    succeed,
)
from aijobs.models.results import Validated
from tests.integration.ledger.books import Ceiling, a_day_passes, empty, rows_over, sql
from tests.integration.ledger.plain import Amount, Home, Job, Ledger, Row
from tests.integration.models.states import FAILURE, claimed, hasty, new_job
from tests.world import World

Rule = TypeVar("Rule", bound=Callable[..., Any])
LIMITS = UserLimits(daily_jobs=5, daily_tokens=1500, monthly_tokens=2500, active=3)
BUDGET = Budget(tokens=2000, cost_micro_usd=1500)
CEILING = Ceiling(5, 1500, 2500, 2000, 1500)
USERS = (uuid4(), uuid4())
ZONES = ("UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago")  # the first and the last to turn a day
VALIDATED = Validated(output={}, output_hash="o" * 64, snapshot_hash="s" * 64)
CALL = NewCall(uuid7(), "standard", "p", "m", "k", "v1", "r" * 64, 0, 0)

_MONTHS = ("user_ai_usage_monthly", "ai_job_reservation", "ai_usage_log")


def _a_month_passes() -> None:
    for table in _MONTHS:
        for step in (1200, -1201):
            sql(f"UPDATE {table} SET month = (month + ({step}) * interval '1 month')::date")


amounts = st.sampled_from([300, 0, 1, 100, 450, 600])
who = st.sampled_from(USERS)
modes = st.sampled_from(["platform_key", "user_key"])
which = st.integers(0, 7)
ACTIVE, ENDED = ("running",), ("succeeded", "failed", "cancelled")


def given_a(*states: str) -> Callable[[Rule], Rule]:
    """A rule that has something to act on only while a job is in one of these states."""
    decorate: Callable[[Rule], Rule] = precondition(lambda self: self.pick(0, *states) is not None)
    return decorate


class Books(RuleBasedStateMachine):
    """The real ledger beside the plain one."""

    here: World

    def __init__(self) -> None:
        super().__init__()
        empty()
        self.ledger = Ledger(LIMITS, BUDGET)
        self.zones: dict[UUID, list[str]] = {user: ["UTC"] for user in USERS}
        self.began = self._dates()

    def _dates(self) -> list[dt.date]:
        return [dt.datetime.now(ZoneInfo(zone)).date() for zone in ZONES]

    def _today(self, user: UUID) -> Home:
        local = dt.datetime.now(ZoneInfo(self.zones[user][0])).date()
        return Home(local, local.replace(day=1), dt.datetime.now(dt.UTC).date())

    def pick(self, number: int, *states: str) -> tuple[UUID, Job] | None:
        found = [item for item in self.ledger.jobs.items() if item[1].status in states]
        return found[number % len(found)] if found else None

    def _taken(self, number: int, *states: str) -> tuple[Lease, Job]:
        found = self.pick(number, *states)
        assert found is not None
        return Lease(found[0], found[1].attempt_no, self.here.engine.holder), found[1]

    @initialize(first=st.lists(st.tuples(who, modes, amounts, amounts), min_size=2, max_size=4))
    def begin(self, first: list[tuple[UUID, str, int, int]]) -> None:
        """Some jobs are under way."""
        for user, mode, tokens, cost in first:
            self.create(user, mode, tokens, cost, claims=True)

    # What users and workers do.

    @rule(user=who, mode=modes, tokens=amounts, cost=amounts, claims=st.booleans())
    def create(self, user: UUID, mode: str, tokens: int, cost: int, claims: bool) -> None:
        new = new_job(self.here, user_id=user, credential_mode=mode, id=uuid7())
        job = Job(user, mode, self._today(user), Amount(tokens, cost))

        def work() -> str | None:
            if pass_gate(user, LIMITS).is_full:
                return "TOO_MANY_JOBS"
            reserving = (Bound(tokens, cost), BUDGET)
            assert create(new, actor="test", reserving=reserving) is not None
            return None

        active = [job for job in self.ledger.jobs.values() if job.user == user and not job.settled]
        full = len(active) >= LIMITS.active
        refused = "TOO_MANY_JOBS" if full else self.ledger.create(new.id, job)
        assert _refusal(lambda: db.transact("create", work)) == refused
        if claims:
            self.claim()

    @rule()
    @given_a("queued")
    def claim(self) -> None:
        queued = self.pick(0, "queued")
        lease = claimed(self.here)
        assert (lease is None) == (queued is None)
        if lease is not None:
            job = self.ledger.jobs[lease.job_id]
            assert (job.status, job.attempt_no + 1) == ("queued", lease.attempt_no)
            job.status, job.attempt_no = "running", lease.attempt_no

    @rule(number=which, sent=amounts, written=amounts, cost=amounts, finishes=st.booleans())
    @given_a(*ACTIVE)
    def start_call(self, number: int, sent: int, written: int, cost: int, finishes: bool) -> None:
        lease, job = self._taken(number, *ACTIVE)
        call = replace(CALL, id=uuid7(), input_bound=sent, output_bound=written, cost_bound=cost)
        refused = self.ledger.start_call(job, Amount(sent + written, cost), self._today(job.user))
        told = _refusal(
            lambda: start_call(lease, call, lease_seconds=60, patient=hasty, budget=BUDGET)
        )
        assert told == refused
        if finishes and refused is None:
            self.finish_call(-1, "TMZBI"[number % 5], keep=False, again=True)

    def calls(self) -> list[tuple[UUID, Job, int]]:
        """(job, ..., call_no) of all calls that nobody has finished yet."""
        return [
            (job_id, job, number)
            for job_id, job in self.ledger.jobs.items()
            for number, call in enumerate(job.calls, 1)
            if call.is_open
        ]

    @rule(number=which, usage=st.sampled_from("TMZBI"), keep=st.booleans(), again=st.booleans())
    @precondition(lambda self: self.calls())
    def finish_call(self, number: int, usage: str, keep: bool, again: bool) -> None:
        """Also of a job that has ended: told, missing, zero, beyond the bound, input alone.

        Told again, something else, it stays as it is.
        """
        found = self.calls()
        job_id, job, call_no = found[number % len(found)]
        call = job.calls[call_no - 1]
        outcome, spent = _outcome(_bound(job_id, call_no), usage)
        self.ledger.bill(job, call, spent)
        lease = Lease(job_id, call.attempt_no, self.here.engine.holder)
        if keep and job.status == "running" and call.attempt_no == job.attempt_no:
            finish_with_result(
                lease, (call_no, outcome), VALIDATED, lease_seconds=60, patient=hasty
            )
        else:
            finish_call(lease, call_no, outcome, patient=hasty)
        if again:
            finish_call(lease, call_no, _outcome((9, 9, 9), "B")[0], patient=hasty)

    @rule(number=which, how=st.sampled_from(["crash", "retry", "hand_back"]), claims=st.booleans())
    @given_a(*ACTIVE)
    def go_back(self, number: int, how: str, claims: bool) -> None:
        """To the queue; or, when no retry is left, to the end."""
        lease, job = self._taken(number, *ACTIVE)
        try:
            if how == "crash":
                self.here.lapse(lease.job_id)
                expire(lease.job_id, grace_seconds=30)
                requeue(lease.job_id, delay_seconds=0)
            elif how == "retry":
                release_for_retry(lease, FAILURE, delay_seconds=0, patient=hasty)
            else:
                hand_back(lease, cause="budget", delay_seconds=0, patient=hasty)
        except IllegalTransition:
            if how == "crash":
                give_up(lease.job_id, FAILURE)
            else:
                fail(lease, FAILURE, patient=hasty)
            self.ledger.settle(job, "failed")
            return
        job.status = "queued"
        if claims:
            self.claim()

    @rule(number=which, status=st.sampled_from(ENDED), completes=st.booleans())
    @given_a("queued", *ACTIVE)
    def end(self, number: int, status: str, completes: bool) -> None:
        """A queued one can only be cancelled."""
        lease, job = self._taken(number, "queued", *ACTIVE)
        if job.status == "queued":
            cancel(lease.job_id, reason="user", actor="test")
        elif status == "succeeded":
            succeed(lease, output_hash="o" * 64)
        elif status == "failed":
            fail(lease, FAILURE, patient=hasty)
        else:
            request_cancel(lease.job_id, reason="user")
            confirm_cancel(lease, patient=hasty)
        self.ledger.settle(job, "cancelled" if job.status == "queued" else status)
        if completes:
            complete(lease.job_id)

    # What time and the user's settings do.

    @rule(month_ends=st.booleans())
    @precondition(lambda self: self.ledger.jobs)
    def midnight(self, month_ends: bool) -> None:
        """All that is stored lies a day further back; or a month."""
        days = 31 if month_ends else 1
        for _ in range(days):
            a_day_passes()
        if month_ends:
            _a_month_passes()
        for job in self.ledger.jobs.values():
            _age(job, days, month_ends)
        for user in USERS:
            self.zones[user] = self.zones[user][-1:]

    @rule(user=who, zone=st.sampled_from(ZONES))
    def change_zone(self, user: UUID, zone: str) -> None:
        """Acts from the next midnight of the present zone; its own name takes that back."""
        users.change_settings(user, LIMITS, ai_enabled=None, time_zone=zone)
        now = self.zones[user][0]
        self.zones[user] = [now] if zone == now else [now, zone]

    @invariant()
    def the_books_agree(self) -> None:
        assume(self._dates() == self.began)  # a real midnight passed by
        assert rows_over(CEILING) == []
        assert _rows() == self.ledger.rows()

    def teardown(self) -> None:
        """Once all jobs have ended, the journal adds up to what is used, and nothing is held; the
        doctor has nothing to say of it, then and before."""
        assert _broken() == {}
        while self.pick(0, "queued", *ACTIVE):
            self.end(0, "failed", completes=True)
        assert _journal() == _used()
        assert _broken() == {}


def _broken() -> dict[str, int]:
    """The ledger's invariants that do not hold, as an administrator would be told."""
    findings = doctor.examine(BUDGET, missed_seconds=60)
    ledger = ("ledger_", "reservation_")
    return {f.name: f.violations for f in findings if f.violations and f.name.startswith(ledger)}


def _age(job: Job, days: int, month_ends: bool) -> None:
    """The same history, earlier."""

    def earlier(home: Home) -> Home:
        month = (home.month - dt.timedelta(days=1)).replace(day=1) if month_ends else home.month
        ago = dt.timedelta(days=days)
        return Home(home.user_date - ago, month, home.platform_date - ago)

    job.home = earlier(job.home)
    job.counted_at = job.counted_at and earlier(job.counted_at)
    for call in job.calls:
        call.home = earlier(call.home)
    aged = {earlier(home): beyond for home, beyond in job.overruns.items()}
    job.overruns = defaultdict(Amount, aged)


def _bound(job_id: UUID, call_no: int) -> tuple[int, int, int]:
    """What an open call's row says: input, output, cost."""
    (row,) = sql(
        "SELECT input_tokens AS i, output_tokens AS o, cost_micro_usd AS c FROM ai_usage_log "
        "WHERE job_id = %(id)s AND call_no = %(no)s",
        id=job_id,
        no=call_no,
    )
    return row["i"], row["o"], row["c"]


def _outcome(bound: tuple[int, int, int], usage: str) -> tuple[CallOutcome, Amount]:
    """How a call ends, and what it has cost by that: what nobody told stands at its bound."""
    sent, written, cost = bound
    told: dict[str, tuple[int | None, int | None, int | None]] = {
        "T": (sent // 2, written // 3, cost // 2),
        "M": (None, None, None),
        "Z": (0, 0, 0),
        "B": (sent + 70, written + 500, cost + 400),
        "I": (sent // 2, None, cost // 4),
    }
    i, o, c = told[usage]
    outcome = CallOutcome("completed", 5, input_tokens=i, output_tokens=o, cost_micro_usd=c)
    real = (sent if i is None else i) + (written if o is None else o)
    return outcome, Amount(real, cost if c is None else c)


def _refusal(work: Any) -> str | None:
    try:
        told = work()
    except NoRoom as refused:
        return refused.code
    return told if isinstance(told, str) else None


_KEYS = {
    "daily": ("user_ai_usage_daily", ("user_id", "local_date", "credential_mode")),
    "monthly": ("user_ai_usage_monthly", ("user_id", "month", "credential_mode")),
    "platform": ("platform_usage_daily", ("utc_date",)),
}


def _rows() -> dict[tuple[object, ...], Row]:
    found = {}
    for kind, (table, columns) in _KEYS.items():
        for row in sql(f"SELECT * FROM {table}"):
            columns_of = [
                Amount(row[f"tokens_{column}"], row[f"cost_{column}"])
                for column in ("reserved", "used", "overrun")
            ]
            found[(kind, *(row[column] for column in columns))] = Row(row["jobs"], *columns_of)
    return {key: row for key, row in found.items() if row != Row()}


def _journal() -> list[tuple[int, int]]:
    """(tokens, cost) of all calls, of the same, and of those on the platform's key."""
    text = (
        "SELECT coalesce(sum(input_tokens + output_tokens), 0)::bigint AS tokens, "
        "coalesce(sum(cost_micro_usd), 0)::bigint AS cost FROM ai_usage_log WHERE "
    )
    (all_calls,), (platform,) = sql(f"{text} true"), sql(f"{text} credential_mode = 'platform_key'")
    return [tuple(row.values()) for row in (all_calls, all_calls, platform)]


def _used() -> list[tuple[int, int]]:
    """The same as the books have it; nothing is reserved any more."""
    found = []
    for table, _ in _KEYS.values():
        (row,) = sql(
            "SELECT coalesce(sum(tokens_used), 0)::bigint AS tokens, "
            "coalesce(sum(cost_used), 0)::bigint AS cost, "
            f"coalesce(sum(tokens_reserved + cost_reserved), 0)::bigint AS held FROM {table}"
        )
        assert row.pop("held") == 0
        found.append(tuple(row.values()))
    return found


@pytest.fixture
def machine(here: World) -> type[Books]:
    return type("BooksHere", (Books,), {"here": here})


def _profile(max_examples: int, steps: int) -> settings:
    return settings(
        max_examples=max_examples,
        stateful_step_count=steps,
        suppress_health_check=list(HealthCheck),
    )


def test_the_ledger_counts_everything_once(machine: type[Books]) -> None:
    run_state_machine_as_test(machine, settings=_profile(25, 30))


@pytest.mark.long
def test_the_ledger_counts_everything_once_at_length(machine: type[Books]) -> None:
    run_state_machine_as_test(machine, settings=_profile(300, 60))
