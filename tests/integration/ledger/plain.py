"""The ledger in plain Python: what every row must say, worked out anew from all that has happened.

Where the database adds and subtracts, this sums up: nothing of the arithmetic is shared.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from dataclasses import dataclass, field
from uuid import UUID

from aijobs.models.ledger import Budget, UserLimits


@dataclass(frozen=True)
class Amount:
    """Tokens and micro-dollars."""

    tokens: int = 0
    cost: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.tokens + other.tokens, self.cost + other.cost)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.tokens - other.tokens, self.cost - other.cost)

    def fits(self, room: Amount) -> bool:
        return self.tokens <= room.tokens and self.cost <= room.cost


def most(one: Amount, other: Amount) -> Amount:
    """The greater of each."""
    return Amount(max(one.tokens, other.tokens), max(one.cost, other.cost))


NOTHING = Amount()


@dataclass(frozen=True)
class Home:
    """The day rows that something is charged to."""

    user_date: dt.date
    month: dt.date
    platform_date: dt.date


@dataclass
class Call:
    """A call in the journal: at its bound until somebody counts."""

    home: Home
    attempt_no: int
    spent: Amount
    is_open: bool = True


@dataclass
class Job:
    """A job with its reservation."""

    user: UUID
    mode: str
    home: Home
    reserved: Amount
    status: str = "queued"
    attempt_no: int = 0
    counted_at: Home | None = None
    calls: list[Call] = field(default_factory=list)
    settled: bool = False
    #: What was spent beyond what was reserved when it became known, by the rows it is charged to.
    overruns: dict[Home, Amount] = field(default_factory=lambda: defaultdict(Amount))

    def spent(self, home: Home) -> Amount:
        return sum((call.spent for call in self.calls if call.home == home), NOTHING)

    def is_closed(self, home: Home) -> bool:
        """Whether what is charged there is used, and no longer covered by a reservation."""
        return self.settled or home != self.home


@dataclass
class Row:
    """A usage row."""

    jobs: int = 0
    reserved: Amount = NOTHING
    used: Amount = NOTHING
    overrun: Amount = NOTHING

    @property
    def net(self) -> Amount:
        return self.used - self.overrun + self.reserved


Key = tuple[object, ...]


@dataclass
class Ledger:
    """All jobs of all users, and the limits that hold for each."""

    limits: UserLimits
    budget: Budget
    jobs: dict[UUID, Job] = field(default_factory=dict)

    def rows(self) -> dict[Key, Row]:
        """Every usage row that is not zero, by its key."""
        found: dict[Key, Row] = defaultdict(Row)
        for job in self.jobs.values():
            if job.counted_at is not None:
                for key in keys(job, job.counted_at):
                    found[key].jobs += 1
            if not job.settled:
                for key in keys(job, job.home):
                    found[key].reserved += job.reserved
            for call in job.calls:
                if job.is_closed(call.home):
                    for key in keys(job, call.home):
                        found[key].used += call.spent
            for home, beyond in job.overruns.items():
                for key in keys(job, home):
                    found[key].overrun += beyond
        return {key: row for key, row in found.items() if row != Row()}

    def refusal(self, job: Job, home: Home, more: Amount, jobs: int) -> str | None:
        """The code with which `more` is refused there; a user's own limits come first."""
        rows = self.rows()
        day, month, *platform = [rows.get(key, Row()) for key in keys(job, home)]
        if jobs and day.jobs + jobs > self.limits.daily_jobs:
            return "DAILY_JOB_LIMIT_EXCEEDED"
        if (day.net + more).tokens > self.limits.daily_tokens:
            return "DAILY_TOKEN_BUDGET_EXCEEDED"
        quota = self.limits.monthly_tokens
        if quota is not None and (month.net + more).tokens > quota:
            return "QUOTA_EXCEEDED"
        for row in platform:
            if (row.net + more).tokens > self.budget.tokens:
                return "PLATFORM_TOKEN_BUDGET_EXCEEDED"
            if (row.net + more).cost > self.budget.cost_micro_usd:
                return "PLATFORM_COST_BUDGET_EXCEEDED"
        return None

    def create(self, job_id: UUID, job: Job) -> str | None:
        """A job with its reservation, or why not."""
        refused = self.refusal(job, job.home, job.reserved, 1)
        if refused is None:
            job.counted_at = job.home
            self.jobs[job_id] = job
        return refused

    def start_call(self, job: Job, bound: Amount, today: Home) -> str | None:
        """A call at its bound, in a reservation that covers all that is spent; or why not."""
        spent = job.spent(job.home) + bound
        wanted = most(job.reserved, spent)
        refused = self.refusal(job, job.home, wanted - job.reserved, 0)
        if spent.fits(job.reserved) or refused is None:
            job.calls.append(Call(job.home, job.attempt_no, bound))
            job.reserved = wanted
            return None
        if today == job.home or not _is_later(today, job.home):
            return refused
        before = (job.home, job.reserved)
        self._close(job, job.home)
        job.home, job.reserved = today, NOTHING
        refused = self.refusal(job, today, bound, 0)
        if refused is None:
            job.calls.append(Call(today, job.attempt_no, bound))
            job.reserved = bound
            return None
        job.home, job.reserved = before
        del job.overruns[job.home]
        return refused

    def bill(self, job: Job, call: Call, spent: Amount) -> None:
        """What a call has cost. Once its reservation is closed, what comes on top is overrun; what
        turns out less takes overrun back as far as there is any, but not of a day that was left."""
        if not call.is_open:
            return
        change = spent - call.spent
        call.spent, call.is_open = spent, False
        if call.home != job.home:
            job.overruns[call.home] += most(NOTHING, change)
        elif job.settled:
            job.overruns[call.home] = most(NOTHING, job.overruns[call.home] + change)

    def settle(self, job: Job, status: str) -> None:
        """The end of a job. One that was never claimed does not count as one."""
        job.status = status
        if job.attempt_no == 0:
            job.counted_at = None
        self._close(job, job.home)
        job.settled = True

    def _close(self, job: Job, home: Home) -> None:
        job.overruns[home] = most(NOTHING, job.spent(home) - job.reserved)


def keys(job: Job, home: Home) -> list[Key]:
    """The rows of a user's day, a user's month and, on the platform's key, the UTC day."""
    found: list[Key] = [
        ("daily", job.user, home.user_date, job.mode),
        ("monthly", job.user, home.month, job.mode),
    ]
    if job.mode == "platform_key":
        found.append(("platform", home.platform_date))
    return found


def _is_later(today: Home, home: Home) -> bool:
    """A reservation moves forward only: a change of zone can put a user's day back."""
    return today.user_date >= home.user_date and today.platform_date >= home.platform_date
