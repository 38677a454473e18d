"""A small world for tests in one process: a database, a user with study material, an engine.

Everything in it is real: the database is PostgreSQL, the engine the production one; only time is
moved, by moving stored timestamps.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID, uuid4

from aijobs.actors.relay import to_message
from aijobs.engine import stages
from aijobs.engine.attempt import Attempt
from aijobs.engine.chat import Provider, Route
from aijobs.engine.engine import Engine, build_engine
from aijobs.engine.setting_names import variable
from aijobs.engine.settings import Settings
from aijobs.engine.stages import Next, Outcome, settle
from aijobs.engine.submit import submit
from aijobs.models import database as db
from aijobs.models import jobs, learner, outbox
from aijobs.models.learner import NewPoint
from aijobs.models.tables import AiJob

POINTS = (
    (
        "Nucleus",
        "The nucleus is the part of the cell that holds its genome. It has a double envelope.",
    ),
    (
        "Ribosome",
        "The ribosome is the machine that makes proteins from messages. It has two parts.",
    ),
    ("Vacuole", "The vacuole is the store of water of a plant cell. It keeps the cell firm."),
    (
        "Membrane",
        "The membrane is the skin that parts a cell from its world. It lets some things pass.",
    ),
    (
        "Mitochondrion",
        "The mitochondrion is the plant that turns sugar into ATP. It has its own genome.",
    ),
    ("Lysosome", "The lysosome is the bag in which a cell digests its waste. It is acid inside."),
)

#: Limits that are in nobody's way, as settings.
ROOM = {
    "user_requests_per_minute": 6000,
    "max_daily_ai_jobs": 1_000_000,
    "max_daily_token_budget": 10**12,
    "max_active_jobs": 1_000_000,
    "platform_daily_tokens": 10**12,
}
#: The same as environment variables.
ROOM_VARIABLES = {variable(name): str(value) for name, value in ROOM.items()}
#: What seals users' own keys in tests.
MASTER_KEYS = "test-1:dGVzdCBrZXkgb2YgdGhpcnR5LXR3byBieXRlcyAwMDE="


@dataclass(frozen=True)
class World:
    """A user with a knowledge base, and an engine that works on their jobs in this thread."""

    engine: Engine
    user_id: UUID
    base_id: UUID

    def create(self, job_type: str = "quiz_generation", **body: Any) -> AiJob:
        """Create a job as POST /jobs does."""
        target = {"targetType": "knowledge_base", "targetId": str(self.base_id)}
        request = {"jobType": job_type, **target, **body}
        return submit(self.engine, self.user_id, request, None).job

    def claim(self, queue_name: str = "ai-interactive") -> Attempt:
        """Claim the best job of a queue; there must be one."""
        attempt = stages.prepare(self.engine, queue_name)
        assert attempt is not None, "nothing is claimable"
        return attempt

    def run(self, attempt: Attempt) -> None:
        """Take an attempt through RESOLVE, EXECUTE and PROJECT, or to the edge of its fault."""
        try:
            outcome = self._staged(attempt)
            if not isinstance(outcome, Next):
                settle(self.engine, attempt, outcome)
        finally:
            self.engine.attempts.remove(attempt)

    def _staged(self, attempt: Attempt) -> Outcome[None]:
        resolved = stages.resolve(self.engine, attempt)
        if not isinstance(resolved, Next):
            return resolved
        executed = stages.execute(self.engine, attempt, resolved.value)
        if not isinstance(executed, Next):
            return executed
        return stages.project(self.engine, attempt, resolved.value, executed.value)

    def finish(self, job: AiJob) -> AiJob:
        """Run jobs of the queue until this one has ended and is completed."""
        while (now := self.job(job.id)).lifecycle_status == "queued":
            self.run(self.claim(now.queue_name))
        stages.complete(job.id)
        return self.job(job.id)

    def job(self, job_id: UUID) -> AiJob:
        """The job as it is now."""
        found = db.read(lambda: jobs.get(job_id))
        assert found is not None
        return found

    def with_provider(self, provider: Provider, route: Route | None = None) -> World:
        """The same world with another provider."""
        engine = replace(self.engine, provider=provider, route=route or self.engine.route)
        return replace(self, engine=engine)

    def other_process(self) -> World:
        """The same world as another worker process sees it: another holder, its own attempts."""
        fresh = build_engine(self.engine.settings)
        engine = replace(fresh, provider=self.engine.provider, route=self.engine.route)
        return replace(self, engine=engine)

    def lapse(self, job_id: UUID, seconds: float = 3600) -> None:
        """Move a lease into the past."""
        moved = (
            "UPDATE ai_job SET lock_until = lock_until - %(seconds)s * interval '1 second' "
            "WHERE id = %(id)s"
        )
        db.read(lambda: db.rows(moved, {"id": job_id, "seconds": seconds}))

    def make_due(self, job_id: UUID) -> None:
        """Move a queued job's due time to now, as if its backoff had passed."""
        moved = "UPDATE ai_job SET available_at = now() WHERE id = %(id)s"
        db.read(lambda: db.rows(moved, {"id": job_id}))


def settings_for(database_url: str, redis_url: str, **more: Any) -> Settings:
    """Settings of a test whose one user may ask as much as many users do."""
    given = ROOM | {"master_keys": MASTER_KEYS, **more}
    return Settings(database_url=database_url, redis_url=redis_url, **given)


@contextmanager
def world(settings: Settings, *, connections: int = 20) -> Iterator[World]:
    """Connect the pool and make a user with a knowledge base of six points."""
    db.connect_to(settings.database_url, connections=connections)
    try:
        engine = build_engine(settings)
        user_id, base_id = uuid4(), uuid4()
        learner.add_base(base_id, user_id, "The cell")
        points = [NewPoint(uuid4(), title, body, ("cell",)) for title, body in POINTS]
        learner.add_points(base_id, points)
        yield World(engine, user_id, base_id)
    finally:
        db.disconnect()


def whole_database() -> dict[str, list[str]]:
    """Every row of every table as text, sorted: two equal results mean that nothing has changed."""
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"

    def look() -> dict[str, list[str]]:
        names = [row["tablename"] for row in db.rows(tables)]
        return {
            name: sorted(row["line"] for row in db.rows(f"SELECT t::text AS line FROM {name} t"))
            for name in names
        }

    return db.read(look)


def pending_messages() -> list[tuple[str, str]]:
    """(actor, job id) of every event that a relay would send now."""
    sent = [to_message(event) for event in outbox.claim_events("test", 1000)]
    return [(message.actor_name, message.kwargs["jobId"]) for message in sent if message]
