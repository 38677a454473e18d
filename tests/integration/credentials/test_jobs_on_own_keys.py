"""Jobs on a user's own key: which key is taken, what its faults do, and what users are told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest

from aijobs.engine.chat import ChatRequest, Reply, Route
from aijobs.engine.cut import Cut
from aijobs.engine.errors import ProviderFault
from aijobs.engine.vault import Vault
from aijobs.models import credentials
from aijobs.models import database as db
from aijobs.models.tables import AiJob, Notification
from tests.integration.credentials.detour import (
    KEY,
    Detour,
    add_key,
    detoured,
    keys_received,
    row_of,
)
from tests.integration.engine.seen import calls, causes, states
from tests.integration.http.caller import Caller, problem
from tests.scripted_provider import ScriptedProvider
from tests.world import World, whole_database

PATH = "/model-credentials"


def _ask(who: Caller, here: World, **more: Any) -> Any:
    target = {"targetType": "knowledge_base", "targetId": str(here.base_id)}
    return who.post("/jobs", {"jobType": "quiz_generation", **target, **more})


def _create(who: Caller, here: World, **more: Any) -> AiJob:
    answer = _ask(who, here, apiKeyMode="user_key", **more)
    assert answer.status_code == 201, answer.text
    return here.job(UUID(answer.json["jobId"]))


def _told(job: AiJob) -> dict[str, Any]:
    found = db.read(lambda: list(Notification.select().where(Notification.job_id == job.id)))
    assert {row.user_id for row in found} <= {job.user_id}
    return {row.kind: row.payload for row in found}


def test_the_only_key_of_a_user_is_taken(
    me: Caller, wired: World, server: ScriptedProvider, detour: Detour
) -> None:
    credential_id = add_key(me)
    job = _create(me, wired)
    assert (job.credential_mode, job.credential_id, job.credential_version) == (
        "user_key",
        credential_id,
        1,
    )
    done = wired.finish(job)
    assert (done.lifecycle_status, done.model_provider) == ("succeeded", "deepseek")
    assert keys_received(server) == [KEY]
    [route] = detour.routes
    assert (route.base_url, route.public_only) == ("https://api.deepseek.com", True)
    [call] = calls(job.id)
    assert (call.credential_mode, call.provider) == ("user_key", "deepseek")
    assert set(_told(job)) == {"job_succeeded"}


def test_a_job_on_the_platforms_key_sees_no_users_key(
    me: Caller, wired: World, server: ScriptedProvider
) -> None:
    add_key(me)
    job = wired.job(UUID(_ask(me, wired).json["jobId"]))
    assert (job.credential_mode, job.credential_id) == ("platform_key", None)
    done = wired.finish(job)
    assert (done.lifecycle_status, done.model_provider) == ("succeeded", "offline")
    assert server.calls == []


def test_of_several_keys_one_must_be_named(
    me: Caller, wired: World, server: ScriptedProvider
) -> None:
    add_key(me)
    second = add_key(me, "the-second-key-0002")
    answer = _ask(me, wired, apiKeyMode="user_key")
    assert problem(answer) == (400, "CREDENTIAL_REQUIRED", ["credentialId"])
    job = _create(me, wired, credentialId=str(second))
    assert wired.finish(job).lifecycle_status == "succeeded"
    assert keys_received(server) == ["the-second-key-0002"]
    named = _ask(me, wired, credentialId=str(second)).json["jobId"]
    assert wired.job(UUID(named)).credential_mode == "user_key"


def test_a_job_without_a_key_to_take_is_refused_and_nothing_is_stored(
    me: Caller, stranger: Caller, wired: World
) -> None:
    theirs = add_key(stranger)
    gone = add_key(me)
    me.delete(f"{PATH}/{gone}")
    before = whole_database()
    answer = _ask(me, wired, apiKeyMode="user_key")
    assert problem(answer) == (400, "CREDENTIAL_REQUIRED", [])
    for credential_id in (theirs, gone, uuid4()):
        answer = _ask(me, wired, apiKeyMode="user_key", credentialId=str(credential_id))
        assert problem(answer) == (404, "CREDENTIAL_NOT_FOUND", [])
    assert whole_database() == before


def test_a_key_that_was_refused_is_not_taken_again(me: Caller, wired: World) -> None:
    refused = add_key(me)
    credentials.mark_invalid(credentials.KeyInUse(refused, wired.user_id, 1))
    answer = _ask(me, wired, apiKeyMode="user_key")
    assert problem(answer) == (400, "CREDENTIAL_REQUIRED", [])
    answer = _ask(me, wired, apiKeyMode="user_key", credentialId=str(refused))
    assert problem(answer) == (400, "CREDENTIAL_REQUIRED", ["credentialId"])
    good = add_key(me, "a-good-key-0000")
    assert _create(me, wired).credential_id == good


@pytest.mark.parametrize("status", ["401", "403"])
def test_a_refused_key_fails_the_job_marks_the_version_and_tells_the_user(
    me: Caller, wired: World, server: ScriptedProvider, status: str
) -> None:
    credential_id = add_key(me)
    job, waiting = _create(me, wired), _create(me, wired)
    server.script(status)
    done = wired.finish(job)
    assert (done.lifecycle_status, done.error_code) == ("failed", "CREDENTIAL_INVALID")
    assert (states(job.id), causes(job.id)) == (["failed"], ["create", "claim", "fail"])
    assert row_of(credential_id).status == "invalid"
    payload = {
        "jobType": "quiz_generation",
        "errorCode": "CREDENTIAL_INVALID",
        "credentialId": str(credential_id),
    }
    told = _told(job)
    assert set(told) == {"credential_invalid", "job_failed"}
    assert told["credential_invalid"] == payload
    # The next one does not ask a provider that has refused.
    assert wired.finish(waiting).error_code == "CREDENTIAL_INVALID"
    assert "credential_invalid" in _told(waiting)
    assert len(server.calls) == 1


def test_a_new_version_of_the_key_is_what_a_waiting_job_takes(
    me: Caller, wired: World, server: ScriptedProvider
) -> None:
    credential_id = add_key(me)
    job = _create(me, wired)
    me.put(f"{PATH}/{credential_id}", {"apiKey": "the-new-key-0001"})
    assert wired.finish(job).lifecycle_status == "succeeded"
    assert keys_received(server) == ["the-new-key-0001"]


def test_a_refusal_of_the_old_key_does_not_mark_the_new_one(
    me: Caller, here: World, detour: Detour
) -> None:
    """The user changes the key while a job calls with the old one."""

    class Changing:
        def complete(self, route: Route, request: ChatRequest, cut: Cut) -> Reply:
            me.put(f"{PATH}/{credential_id}", {"apiKey": "the-new-key-0001"})
            raise ProviderFault("CREDENTIAL_INVALID", http_status=401)

    credential_id = add_key(me)
    changing = detoured(here, Changing())
    job = _create(me, changing)
    assert changing.finish(job).error_code == "CREDENTIAL_INVALID"
    row = row_of(credential_id)
    assert (row.version, row.status) == (2, "active")
    assert "credential_invalid" in _told(job)


@pytest.mark.parametrize("knob", ["402", "429_no_money", "404_html", "bad_model_400"])
def test_an_account_without_money_or_model_fails_the_job_and_tells_the_user(
    me: Caller, wired: World, server: ScriptedProvider, knob: str
) -> None:
    credential_id = add_key(me)
    job = _create(me, wired)
    server.script(knob)
    done = wired.finish(job)
    assert (done.lifecycle_status, done.error_code) == ("failed", "PROVIDER_ACCOUNT")
    assert causes(job.id) == ["create", "claim", "fail"]
    assert set(_told(job)) == {"credential_account", "job_failed"}
    assert row_of(credential_id).status == "active"


def test_a_passing_fault_is_retried_with_the_same_key(
    me: Caller, wired: World, server: ScriptedProvider
) -> None:
    add_key(me)
    job = _create(me, wired)
    server.enqueue("503")
    wired.run(wired.claim())
    assert wired.job(job.id).lifecycle_status == "queued"
    wired.make_due(job.id)
    assert wired.finish(job).lifecycle_status == "succeeded"
    assert keys_received(server) == [KEY, KEY]
    assert set(_told(job)) == {"job_succeeded"}


@pytest.mark.parametrize("knob", ["503", "401", "402"])
def test_no_fault_of_an_own_key_falls_over_to_the_platforms(
    me: Caller, wired: World, server: ScriptedProvider, knob: str
) -> None:
    """Also where the platform has routes that would answer."""
    with ScriptedProvider() as platform:
        routes = tuple(Route(name, "m", platform.base_url, "platform") for name in ("a", "b"))
        engine = replace(wired.engine, tiers={"standard": routes})
        both = replace(wired, engine=engine)
        add_key(me)
        job = _create(me, both)
        server.script(knob)
        both.run(both.claim())
        assert platform.calls == []
    assert len(calls(job.id)) == 1


def test_a_key_deleted_while_the_job_waits_fails_it_without_a_call(
    me: Caller, wired: World, server: ScriptedProvider
) -> None:
    credential_id = add_key(me)
    job = _create(me, wired)
    me.delete(f"{PATH}/{credential_id}")
    done = wired.finish(job)
    assert (done.lifecycle_status, done.error_code) == ("failed", "CREDENTIAL_NOT_FOUND")
    assert (server.calls, calls(job.id)) == ([], [])
    assert set(_told(job)) == {"job_failed"}


def test_an_answer_that_is_paid_for_is_used_though_the_key_is_gone(
    me: Caller, wired: World, server: ScriptedProvider
) -> None:
    """The first answer is repaired; the process dies while it waits for the second one."""
    credential_id = add_key(me)
    job = _create(me, wired)
    server.enqueue("ok", text="not JSON")
    server.enqueue("503")
    wired.run(wired.claim())
    assert states(job.id) == ["completed", "failed"]
    me.delete(f"{PATH}/{credential_id}")
    wired.make_due(job.id)
    done = wired.finish(job)
    # It is found in the journal; the key is missed where it is needed, at the next call.
    assert (done.error_code, len(server.calls)) == ("CREDENTIAL_NOT_FOUND", 2)


def test_a_process_without_the_master_key_hands_the_job_back(
    me: Caller, wired: World, server: ScriptedProvider
) -> None:
    add_key(me)
    job = _create(me, wired)
    blind = replace(wired, engine=replace(wired.engine, vault=Vault()))
    blind.run(blind.claim())
    waiting = wired.job(job.id)
    assert (waiting.lifecycle_status, waiting.retry_count) == ("queued", 0)
    assert causes(job.id)[-1] == "hand_back:infrastructure"
    assert (server.calls, calls(job.id)) == ([], [])
    wired.make_due(job.id)
    assert wired.finish(job).lifecycle_status == "succeeded"


def test_a_fail_that_does_not_commit_leaves_nothing_of_it(
    me: Caller, wired: World, server: ScriptedProvider
) -> None:
    """The end of the job, the mark on the key and the notice are one transaction."""
    credential_id = add_key(me)
    job = _create(me, wired)
    server.script("401")
    db.read(lambda: db.rows("ALTER TABLE notification RENAME TO elsewhere"))
    wired.run(wired.claim())
    assert causes(job.id) == ["create", "claim", "hand_back:infrastructure"]
    assert row_of(credential_id).status == "active"
