"""Attempts over a real wire: a world whose jobs call scripted providers, and what the books say."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from uuid import UUID

from aijobs.engine.chat import Route
from aijobs.engine.gateway import OpenAIProvider
from aijobs.models import database as db
from aijobs.models.journal import calls_of
from aijobs.models.tables import AiJob, AiUsageLog, JobTransition
from tests.scripted_provider import ProviderCall, ScriptedProvider
from tests.world import World

#: No known shape of a key, so that only its being the route's key can give it away.
KEY = "canary0123456789abcdef"
MODEL = "deepseek-flash"
#: What the scripted provider counts by default: in, cached of these, out. What that costs, rounded
#: up: off-peak 100 x 0.15 + 20 x 0.003 + 80 x 0.60 = 63.06 micro-dollars, at peak 126.12.
TOLD = (120, 20, 80)
COSTS = (64, 127)


def route_to(server: ScriptedProvider | str, provider: str = "scripted") -> Route:
    """A route with the canary key."""
    base_url = server if isinstance(server, str) else server.base_url
    return Route(provider, MODEL, base_url, KEY)


def over_the_wire(here: World, gateway: OpenAIProvider, *routes: Route) -> World:
    """The same world, whose jobs go to these routes in this order."""
    wired = here.with_provider(gateway, routes[0])
    return replace(wired, engine=replace(wired.engine, tiers={"standard": routes}))


def attempt(here: World, job: AiJob, *, seconds: float | None = None) -> AiJob:
    """Run one attempt, due or not, with `seconds` of its time left; the job as it is then.

    Other queued jobs are put off, so that the claim finds this one.
    """
    moved = (
        "UPDATE ai_job SET available_at = now() + CASE WHEN id = %(id)s THEN interval '0' "
        "ELSE interval '1 day' END WHERE lifecycle_status = 'queued'"
    )
    db.read(lambda: db.rows(moved, {"id": job.id}))
    claimed = here.claim(job.queue_name)
    assert claimed.job.id == job.id
    if seconds is not None:
        claimed.cut.deadline = time.monotonic() + seconds
    here.run(claimed)
    return here.job(job.id)


def books(job_id: UUID) -> list[AiUsageLog]:
    """The usage rows of a job, in order."""
    return db.read(lambda: calls_of(job_id))


def causes(job_id: UUID) -> list[str]:
    """The causes of a job's history, in order."""
    history = (
        JobTransition.select().where(JobTransition.job_id == job_id).order_by(JobTransition.id)
    )
    return db.read(lambda: [row.cause for row in history])


def bound(call: ProviderCall) -> tuple[int, int]:
    """The most that a call can have cost: a token for each byte sent, and all that it may write."""
    sent = sum(len(message["content"].encode()) for message in call.body["messages"])
    return sent, call.body["max_tokens"]


def dearest(call: ProviderCall) -> int:
    """What that comes to at the peak price of deepseek-flash (prices_2026_11.toml), rounded up."""
    sent, written = bound(call)
    return math.ceil(round(sent * 0.30 + written * 1.20, 6))


def tokens(row: AiUsageLog) -> tuple[int | None, int | None, bool]:
    """Input, output, and whether they are estimated."""
    return row.input_tokens, row.output_tokens, row.estimated
