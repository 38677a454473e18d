"""Composition root of the workers and the scheduler: `dramatiq aijobs.actors.worker:broker -Q
QUEUE`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import cache
from typing import cast

import redis
from dramatiq import Broker
from dramatiq.middleware import CurrentMessage
from periodiq import PeriodiqMiddleware

from aijobs.actors import periodic, stages
from aijobs.actors.bells import Bells
from aijobs.actors.lifetime import Lifetime
from aijobs.actors.passes import Passes, all_passes
from aijobs.actors.transport import Transport, make_broker
from aijobs.engine.engine import Engine, build_engine
from aijobs.engine.logs import configure
from aijobs.engine.settings import Settings, SettingsError
from aijobs.engine.signals import Signals
from aijobs.models import database as db


def build(settings: Settings, engine: Engine | None = None) -> Broker:
    """The broker with all actors, for the settings given. Nothing is connected yet."""
    configure(settings)
    db.connect_to(
        settings.database_url,
        connections=settings.database_connections,
        statement_seconds=settings.statement_seconds,
    )
    engine = engine or build_engine(settings)
    bells = Bells()
    client = redis.Redis.from_url(settings.redis_url, socket_timeout=5, socket_connect_timeout=5)
    lifetime = Lifetime(engine, bells, client)
    # Explicit: no Retries, AgeLimit or TimeLimit, since the job row alone owns retries and time.
    middleware = [CurrentMessage(), PeriodiqMiddleware(skip_delay=30), lifetime]
    made = make_broker(settings, middleware, bells)

    @cache
    def passes() -> Passes:
        return all_passes(engine, cast(Transport, made), lifetime.hint_relay)

    lifetime.passes = passes
    stages.declare(made, engine, Signals(client))
    periodic.declare(made, passes, settings.reaper_interval_seconds)
    return made


def from_environment(environ: Mapping[str, str]) -> Broker:
    """The broker, or one line per problem on stderr and exit status 2."""
    try:
        return build(Settings.from_env(environ))
    except SettingsError as error:
        print(*(f"aijobs: {problem}" for problem in error.problems), sep="\n", file=sys.stderr)
        sys.exit(2)


def __getattr__(name: str) -> Broker:
    """`broker` is built when it is first asked for, so that importing this module reads nothing."""
    if name != "broker":
        raise AttributeError(name)
    made = globals()["broker"] = from_environment(os.environ)
    return made
