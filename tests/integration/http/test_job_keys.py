"""POST /jobs with an idempotency key: the job that it made is found again, whatever has changed."""

from __future__ import annotations

from uuid import UUID

import pytest

from tests.integration.http.caller import Caller, problem
from tests.integration.http.job_requests import (
    ask_at,
    create_job,
    job_body,
)
from tests.world import World, whole_database


def test_a_key_finds_its_job_again_however_it_is_sent(me: Caller, here: World) -> None:
    first = create_job(me, here, idempotencyKey="k")
    assert first.status_code == 201
    after_all = whole_database()
    for again in (
        create_job(me, here, idempotencyKey="k"),
        create_job(me, here, key="k"),
        create_job(me, here, key="k", idempotencyKey="k"),
        ask_at(
            me,
            "POST",
            "/ai/jobs",
            {"Idempotency-Key": "k"},
            json=dict(reversed(job_body(here).items())),
        ),
    ):
        assert again.status_code == 200
        assert again.json == first.json
        assert again.headers["Location"].endswith(f"/jobs/{first.json['jobId']}")
    assert whole_database() == after_all


def test_a_key_that_was_used_for_another_body_is_refused(me: Caller, here: World) -> None:
    create_job(me, here, key="k")
    before = whole_database()
    for more in ({"questionCount": 6}, {"priority": 60}, {"questionCount": "no number"}):
        for by_header in (True, False):
            sent = {"key": "k"} if by_header else {"idempotencyKey": "k"}
            answer = create_job(me, here, **sent, **more)
            assert problem(answer) == (409, "IDEMPOTENCY_KEY_REUSED", [])
    assert whole_database() == before


def test_a_key_is_found_before_anything_is_refused(me: Caller, here: World) -> None:
    """Its job exists, so what has changed since does not matter."""
    first = create_job(me, here, key="k", questionCount=1)
    here.finish(here.job(UUID(first.json["jobId"])))
    assert me.delete(f"/knowledge-bases/{here.base_id}").status_code == 204
    again = create_job(me, here, key="k", questionCount=1)
    assert (again.status_code, again.json["jobId"]) == (200, first.json["jobId"])
    assert again.json["lifecycleStatus"] == "succeeded"


def test_a_key_is_of_one_user_and_one_job_type(me: Caller, stranger: Caller, here: World) -> None:
    first = create_job(me, here, key="k").json["jobId"]
    other_type = create_job(me, here, key="k", jobType="flashcard_generation")
    assert other_type.status_code == 201
    base = stranger.post("/knowledge-bases", {"title": "Theirs"}).json["id"]
    point = {"points": [{"title": "t", "body": "b"}]}
    stranger.post(f"/knowledge-bases/{base}/points", point)
    theirs = create_job(stranger, here, key="k", targetId=base)
    assert theirs.status_code == 201
    assert len({first, other_type.json["jobId"], theirs.json["jobId"]}) == 3


def test_two_different_keys_in_one_request_are_refused(me: Caller, here: World) -> None:
    answer = create_job(me, here, key="a", idempotencyKey="b")
    assert problem(answer) == (400, "INVALID_REQUEST", ["idempotencyKey"])


@pytest.mark.parametrize(("length", "status"), [(0, 400), (1, 201), (200, 201), (201, 400)])
def test_a_key_has_one_to_two_hundred_characters(
    me: Caller, here: World, length: int, status: int
) -> None:
    key = "k" * length
    assert create_job(me, here, idempotencyKey=key).status_code == status
    expected = 200 if status == 201 else status
    assert create_job(me, here, key=key).status_code == expected
