"""GET /jobs/{id}?wait= waits for a change, not longer, and never with all threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import falcon.testing
import pytest
import redis

from aijobs.http import tokens
from aijobs.http.app import create_app
from aijobs.http.long_poll import LongPoll, etag
from aijobs.models.lifecycle import request_cancel
from tests.eventually import eventually
from tests.world import World


class Caller:
    """The API as the world's user calls it."""

    def __init__(self, here: World, client: redis.Redis) -> None:
        settings = here.engine.settings
        token = tokens.issue(settings, here.user_id, "USER", 600)
        self._client = falcon.testing.TestClient(create_app(here.engine, client))
        self._headers = {"Authorization": f"Bearer {token}"}

    def get(self, job_id: object, query: str = "", known: str | None = None) -> Any:
        headers = self._headers | ({} if known is None else {"If-None-Match": known})
        return self._client.simulate_get(
            f"/api/ai/jobs/{job_id}", query_string=query, headers=headers
        )


@pytest.fixture
def caller(here: World, redis_url: str) -> Iterator[Caller]:
    with redis.Redis.from_url(redis_url) as client:
        yield Caller(here, client)


def test_it_answers_as_soon_as_the_job_changes(here: World, caller: Caller) -> None:
    job = here.create()
    first = caller.get(job.id)
    answers: list[Any] = []
    asking = threading.Thread(
        target=lambda: answers.append(caller.get(job.id, "wait=60", first.headers["ETag"]))
    )
    asking.start()
    assert not answers
    here.claim()
    eventually(lambda: len(answers) == 1, 30)
    asking.join()
    assert answers[0].json["lifecycleStatus"] == "running"
    assert answers[0].headers["ETag"] != first.headers["ETag"]


def test_an_unchanged_job_is_not_sent_again(here: World, caller: Caller) -> None:
    job = here.create()
    known = caller.get(job.id).headers["ETag"]
    again = caller.get(job.id, "wait=1", known)
    assert (again.status_code, again.text) == (304, "")


def test_an_etag_is_known_in_any_form_that_a_client_may_send_it(
    here: World, caller: Caller
) -> None:
    job = here.create()
    tag = caller.get(job.id).headers["ETag"]
    for known in (f"W/{tag}", f'"other", {tag}', f'W/"other", W/{tag}', "*", tag.strip('"')):
        assert caller.get(job.id, "wait=1", known).status_code == 304, known
    for other in ('"other"', 'W/"other"', '"other", "queued"', "", ","):
        assert caller.get(job.id, known=other).status_code == 200, other


def test_a_terminal_job_answers_at_once(here: World) -> None:
    job = here.finish(here.create())
    looks: list[Any] = []

    def look() -> Any:
        looks.append(here.job(job.id))
        return looks[-1]

    assert LongPoll(threads=4).changed(look, None, 60).lifecycle_status == "succeeded"
    assert len(looks) == 1


def test_the_etag_tells_a_cancel_request(here: World, caller: Caller) -> None:
    job = here.create()
    here.claim()
    before = etag(here.job(job.id))
    request_cancel(job.id, reason="test")
    assert etag(here.job(job.id)) != before


def test_waiting_takes_at_most_half_of_the_threads(here: World) -> None:
    job = here.create()
    poll, known = LongPoll(threads=4), frozenset((etag(job),))
    asked: list[int] = []

    def look() -> Any:
        asked.append(threading.get_ident())
        return here.job(job.id)

    waiting = [threading.Thread(target=poll.changed, args=(look, known, 60)) for _ in range(2)]
    for thread in waiting:
        thread.start()
    # Who looks a second time has found room to wait.
    eventually(lambda: all(asked.count(thread.ident or 0) > 1 for thread in waiting), 30)
    looks_before = asked.count(threading.get_ident())
    assert poll.changed(look, known, 60).id == job.id
    assert asked.count(threading.get_ident()) == looks_before + 1  # it looked once: no room to wait
    here.claim()
    for thread in waiting:
        thread.join(30)
        assert not thread.is_alive()


@pytest.mark.parametrize("wait", ["-1", "x", "61", "1e9", "٣"])
def test_a_wait_that_is_none_is_refused(here: World, caller: Caller, wait: str) -> None:
    answer = caller.get(here.create().id, f"wait={wait}")
    assert (answer.status_code, answer.json["code"]) == (400, "INVALID_REQUEST")
    assert answer.json["errors"][0]["field"] == "wait"
