"""A world whose database is made once per module and emptied of jobs before each test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg2
import pytest

from aijobs.models import database as db
from aijobs.models import probes
from tests.world import World, settings_for, world

#: Everything but the learner's own material; what belongs to a job goes with it.
_EMPTY = """
DELETE FROM ai_job;
DELETE FROM outbox_event;
DELETE FROM maintenance_pass;
DELETE FROM queue_control;
DELETE FROM admin_audit;
DELETE FROM quiz_question;
DELETE FROM flashcard;
"""

#: Nothing in the models speaks to Redis.
_NO_REDIS = "redis://127.0.0.1:1/0"


@pytest.fixture(scope="module")
def module_world(postgres_url: str, template_database: str) -> Iterator[World]:
    """One database for the tests of a module."""
    name = f"aijobs_module_{uuid4().hex[:12]}"
    _execute(postgres_url, f'CREATE DATABASE "{name}" TEMPLATE "{template_database}"')
    url = urlsplit(postgres_url)._replace(path=f"/{name}").geturl()
    with world(settings_for(url, _NO_REDIS), connections=60) as made:
        yield made
    _execute(postgres_url, f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def here(module_world: World) -> Iterator[World]:
    """A user with study material and no job, and an engine of one process."""
    db.read(lambda: db.rows(_EMPTY))
    yield module_world.other_process()
    probes.install(None)


def _execute(url: str, sql: str) -> None:
    with closing(psycopg2.connect(url)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(sql)
