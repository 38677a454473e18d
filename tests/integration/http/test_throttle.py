"""How often a user may ask, whichever process is asked, and what happens without Redis."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any
from uuid import UUID, uuid4

import falcon.testing
import pytest
import redis
from limits import RateLimitItemPerMinute
from structlog.testing import capture_logs

from aijobs.http.request_counts import PAUSE_SECONDS, RequestCounts
from aijobs.http.wsgi import redis_client as product_client
from tests.eventually import eventually
from tests.integration.http.caller import Caller, caller, problem
from tests.servers import OwnValkey
from tests.world import World, settings_for, whole_database, world

LIMIT = 3
HEADERS = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")

Instance = Callable[[UUID], Caller]


@contextmanager
def _instances(database_url: str, redis_url: str, limit: int) -> Iterator[tuple[World, Instance]]:
    """A world, and as many API instances as are asked for, each with a Redis client of its own."""
    with ExitStack() as stack:
        settings = settings_for(database_url, redis_url, user_requests_per_minute=limit)
        here = stack.enter_context(world(settings))

        def instance(user_id: UUID) -> Caller:
            client = stack.enter_context(product_client(redis_url))
            return caller(here, user_id, client)

        yield here, instance


@pytest.fixture
def limited(database_url: str, redis_url: str) -> Iterator[tuple[World, Instance]]:
    with _instances(database_url, redis_url, LIMIT) as made:
        yield made


@pytest.fixture
def me(limited: tuple[World, Instance]) -> Caller:
    here, instance = limited
    return instance(here.user_id)


def _told(answer: falcon.testing.Result) -> tuple[int, ...]:
    """Limit, what remains, and the seconds until the next request is free."""
    return tuple(int(answer.headers[name]) for name in HEADERS)


def _is_untold(answer: falcon.testing.Result) -> bool:
    return not {name.lower() for name in HEADERS} & {name.lower() for name in answer.headers}


def _exhaust(who: Caller) -> None:
    assert [who.get("/jobs").status_code for _ in range(LIMIT)] == [200] * LIMIT
    assert who.get("/jobs").status_code == 429


def _time_passes(client: redis.Redis, seconds: float) -> None:
    """Whatever was counted was counted that much earlier."""
    for key in client.keys("*"):
        entries: Any = client.lrange(key, 0, -1)
        for index, entry in enumerate(entries):
            client.lset(key, index, str(float(entry) - seconds))


def test_as_many_as_the_limit_pass_and_the_next_are_refused(me: Caller) -> None:
    answers = [me.get("/jobs") for _ in range(LIMIT + 2)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    assert [_told(answer)[:2] for answer in answers] == [(3, 2), (3, 1), (3, 0), (3, 0), (3, 0)]
    for answer in answers:
        assert 1 <= _told(answer)[2] <= 60
    assert all("Retry-After" not in answer.headers for answer in answers[:LIMIT])


def test_a_refusal_is_a_problem_that_says_when_to_try_again(me: Caller) -> None:
    _exhaust(me)
    before = whole_database()
    answer = me.post("/knowledge-bases", {"title": "One too many"})
    assert problem(answer) == (429, "RATE_LIMITED", [])
    assert answer.json["retryable"] is True
    assert answer.headers["Retry-After"] == answer.headers["RateLimit-Reset"]
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    assert whole_database() == before


def test_a_request_is_counted_wherever_below_the_prefixes_and_however_it_ends(me: Caller) -> None:
    headers = {"Authorization": f"Bearer {me.token}"}
    assert me.client.simulate_get("/ai/jobs", headers=headers).status_code == 200
    missing = me.get(f"/jobs/{uuid4()}")
    assert (missing.status_code, _told(missing)[1]) == (404, 1)
    assert me.get("/nowhere").status_code == 404
    assert problem(me.get("/jobs")) == (429, "RATE_LIMITED", [])
    nowhere = me.client.simulate_get("//api/ai/nowhere", headers=headers)
    assert problem(nowhere) == (429, "RATE_LIMITED", [])


def test_who_is_nobody_is_not_counted_and_what_is_open_is_not_limited(me: Caller) -> None:
    for _ in range(LIMIT + 1):
        refused = me.client.simulate_get("/api/ai/jobs")
        assert problem(refused) == (401, "UNAUTHENTICATED", [])
        healthy = me.client.simulate_get("/healthz")
        assert healthy.status_code == 200
        assert _is_untold(refused)
        assert _is_untold(healthy)
    assert _told(me.get("/jobs"))[1] == LIMIT - 1


def test_users_are_counted_apart(limited: tuple[World, Instance]) -> None:
    here, instance = limited
    me, stranger = instance(here.user_id), instance(uuid4())
    _exhaust(me)
    _exhaust(stranger)


def test_instances_share_the_count_even_at_once(database_url: str, redis_url: str) -> None:
    limit, asked = 10, 40
    with _instances(database_url, redis_url, limit) as (here, instance):
        two = [instance(here.user_id), instance(here.user_id)]
        with ThreadPoolExecutor(8) as pool:
            answers = pool.map(lambda n: two[n % 2].get("/jobs").status_code, range(asked))
            assert Counter(answers) == {200: limit, 429: asked - limit}


def test_after_the_time_that_a_refusal_names_one_passes_again(
    me: Caller, redis_client: redis.Redis
) -> None:
    assert me.get("/jobs").status_code == 200
    _time_passes(redis_client, 30)
    for _ in range(LIMIT - 1):
        assert me.get("/jobs").status_code == 200
    refused = me.get("/jobs")
    seconds = int(refused.headers["Retry-After"])
    assert (refused.status_code, seconds <= 30) == (429, True)
    _time_passes(redis_client, seconds)
    assert [me.get("/jobs").status_code for _ in range(2)] == [200, 429]


def test_after_a_minute_everything_is_free_again(me: Caller, redis_client: redis.Redis) -> None:
    _exhaust(me)
    _time_passes(redis_client, 60)
    _exhaust(me)


def test_redis_holds_an_id_and_times_and_those_for_a_minute(
    limited: tuple[World, Instance], me: Caller, redis_client: redis.Redis
) -> None:
    began = time.time()
    me.get("/jobs", targetId=str(uuid4()))
    (key,) = redis_client.keys("*")
    assert key == f"throttle:user/{limited[0].user_id}/{LIMIT}/1/minute".encode()
    entries: Any = redis_client.lrange(key, 0, -1)
    assert [began <= float(entry) <= time.time() for entry in entries] == [True]
    lasts: Any = redis_client.ttl(key)
    assert 0 < lasts <= 60


def test_no_limit_counts_nothing(
    database_url: str, redis_url: str, redis_client: redis.Redis
) -> None:
    with _instances(database_url, redis_url, 0) as (here, instance):
        me = instance(here.user_id)
        answers = [me.get("/jobs") for _ in range(70)]
    assert {answer.status_code for answer in answers} == {200}
    assert all(map(_is_untold, answers))
    assert redis_client.keys("*") == []


@pytest.fixture
def alone(database_url: str, own_valkey: OwnValkey) -> Iterator[Caller]:
    """A user whose requests are counted on a server that the test may harm."""
    with _instances(database_url, own_valkey.url, LIMIT) as (here, instance):
        yield instance(here.user_id)


def _is_counted_again(who: Caller) -> bool:
    return not _is_untold(who.get("/jobs"))


def _pass_uncounted(who: Caller, count: int) -> None:
    answers = [who.get("/jobs") for _ in range(count)]
    assert {answer.status_code for answer in answers} == {200}
    assert all(map(_is_untold, answers))


@pytest.mark.parametrize("mode", ["term", "kill"])
def test_without_redis_all_requests_pass_with_one_warning(
    alone: Caller, own_valkey: OwnValkey, mode: str
) -> None:
    _exhaust(alone)
    own_valkey.stop(mode)  # type: ignore[arg-type]
    with capture_logs() as lines:
        _pass_uncounted(alone, 4 * LIMIT)
        own_valkey.start()
        eventually(lambda: _is_counted_again(alone), 30)
        eventually(lambda: alone.get("/jobs").status_code == 429)
    told = [line for line in lines if line["event"] == "requests_not_counted"]
    assert [(line["log_level"], line["reason"]) for line in told] == [
        ("warning", "ConnectionError")
    ]


def test_what_passes_uncounted_is_at_least_told_by_number() -> None:
    with product_client("redis://127.0.0.1:1/0") as nowhere:
        counts = RequestCounts(nowhere)
        limit = RateLimitItemPerMinute(LIMIT)
        assert [counts.take(limit, "who") for _ in range(5)] == [None] * 5
    assert counts.uncounted == 5


def test_a_redis_that_hangs_is_waited_for_once_in_a_pause(
    alone: Caller, own_valkey: OwnValkey
) -> None:
    """Who waits for it anew must connect anew: what it accepts later says how many did."""
    with redis.Redis.from_url(own_valkey.url) as watcher:
        assert _is_counted_again(alone)
        before = _connections(watcher)
        os.kill(own_valkey.pid, signal.SIGSTOP)
        try:
            began = time.monotonic()
            _pass_uncounted(alone, 20)
            pauses = int((time.monotonic() - began) / PAUSE_SECONDS)
        finally:
            os.kill(own_valkey.pid, signal.SIGCONT)
        assert _connections(watcher) - before <= pauses
        eventually(lambda: _is_counted_again(alone), 30)
        eventually(lambda: alone.get("/jobs").status_code == 429)


def _connections(watcher: redis.Redis) -> int:
    """How many the server has accepted so far."""
    stats: Any = watcher.info("stats")
    return int(stats["total_connections_received"])


def test_a_redis_that_cannot_write_refuses_nobody(alone: Caller, own_valkey: OwnValkey) -> None:
    with redis.Redis.from_url(own_valkey.url) as client:
        client.config_set("maxmemory", "1")
    with capture_logs() as lines:
        _pass_uncounted(alone, 2 * LIMIT)
    assert [line["reason"] for line in lines] == ["OutOfMemoryError"]


def test_a_job_is_created_without_redis(database_url: str, own_valkey: OwnValkey) -> None:
    with _instances(database_url, own_valkey.url, LIMIT) as (here, instance):
        own_valkey.stop()
        target = {"targetType": "knowledge_base", "targetId": str(here.base_id)}
        body = {"jobType": "quiz_generation", **target}
        answers = [instance(here.user_id).post("/jobs", body) for _ in range(LIMIT + 1)]
    assert [answer.status_code for answer in answers] == [201] * (LIMIT + 1)
