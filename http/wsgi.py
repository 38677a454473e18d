"""Composition root of the API: `gunicorn 'aijobs.http.wsgi:create()'`."""

from __future__ import annotations

import os
import sys
from typing import Any

import falcon
import redis

from aijobs.engine.engine import build_engine
from aijobs.engine.logs import configure
from aijobs.engine.settings import Settings, SettingsError
from aijobs.http.app import create_app
from aijobs.models import database as db

_BOOT_ERROR = 4  # gunicorn's master gives up on a worker that exits so, instead of trying again
_REDIS_SECONDS = 0.25


def build(settings: Settings) -> falcon.App[Any, Any]:
    """The application for these settings. Nothing is connected yet."""
    configure(settings)
    db.connect_to(
        settings.database_url,
        connections=settings.database_connections,
        statement_seconds=settings.statement_seconds,
    )
    return create_app(build_engine(settings), redis_client(settings.redis_url))


def redis_client(url: str) -> redis.Redis:
    """A client that gives up soon: a request waits for it, and can do without its answer."""
    return redis.Redis.from_url(
        url, socket_timeout=_REDIS_SECONDS, socket_connect_timeout=_REDIS_SECONDS, retry=None
    )


def create() -> falcon.App[Any, Any]:
    """The application of the environment, or one line per problem on stderr."""
    try:
        return build(Settings.from_env(os.environ))
    except SettingsError as error:
        print(*(f"aijobs: {problem}" for problem in error.problems), sep="\n", file=sys.stderr)
        sys.exit(_BOOT_ERROR)
