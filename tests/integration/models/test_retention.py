"""What may be deleted, how long after, in which batches; nothing of a job that has not ended."""

from __future__ import annotations

import pytest

from aijobs.models import database as db
from aijobs.models.retention import BATCH, KINDS, delete_batch
from tests.integration.models.edges import nothing_changes
from tests.integration.models.states import STATES, TERMINAL, job_in, sql
from tests.world import World

#: kind -> (column by which it ages, days that it is kept beyond the end of the job).
KEPT = {
    "ai_job_snapshot": ("expires_at", 0),
    "ai_job_input": (None, 1),
    "outbox_event": ("published_at", 1),
    "job_transition": ("at", 400),
    "ai_usage_log": ("started_at", 400),
    "ai_job_result": ("created_at", 400),
    "admin_audit": ("at", 400),
    "notification": ("created_at", 90),
}

_FILL = """
INSERT INTO ai_job_input SELECT id, '{"answerText": "x"}' FROM ai_job;
INSERT INTO ai_job_result
    (job_id, attempt_no, state, output, output_hash, snapshot_hash, result_key, submitted_by)
    SELECT id, 1, 'accepted', '{}', 'o', 's', id::text, 'h' FROM ai_job;
INSERT INTO ai_usage_log (id, job_id, user_id, attempt_no, call_no, call_id, state, tier, provider,
    model, credential_mode, prompt_key, prompt_version, request_hash)
    SELECT id, id, user_id, 1, 1, '1-1', 'completed', 't', 'p', 'm', 'c', 'k', 'v', 'h' FROM ai_job;
INSERT INTO notification (id, user_id, job_id, kind) SELECT id, user_id, id, 'job_end' FROM ai_job;
INSERT INTO admin_audit (who, what, target) VALUES ('w', 'w', 't');
UPDATE outbox_event SET status = 'published', published_at = now();
"""


def _filled(here: World, status: str) -> None:
    """A job in this state with a row of every kind."""
    job_in(here, status)
    sql(_FILL)


def _age_all(days: float) -> None:
    """Let `days` pass for all that is stored."""
    sql(
        f"""SET session_replication_role = replica;
        UPDATE ai_job SET finished_at = finished_at - interval '{days} days';
        UPDATE ai_job_snapshot SET expires_at = expires_at - interval '{days} days';
        UPDATE outbox_event SET published_at = published_at - interval '{days} days';
        UPDATE job_transition SET at = at - interval '{days} days';
        UPDATE ai_usage_log SET started_at = started_at - interval '{days} days';
        UPDATE ai_job_result SET created_at = created_at - interval '{days} days';
        UPDATE admin_audit SET at = at - interval '{days} days';
        UPDATE notification SET created_at = created_at - interval '{days} days';
        RESET session_replication_role"""
    )


def _delete(kind: str) -> int:
    return db.autocommit("purge", lambda: delete_batch(kind))


def _count(kind: str) -> int:
    return int(sql(f"SELECT count(*) AS number FROM {kind}")[0]["number"])


def test_every_kind_of_the_contract_is_purged() -> None:
    assert set(KINDS) == set(KEPT)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", TERMINAL)
def test_a_row_is_kept_for_its_time_and_not_longer(here: World, status: str, kind: str) -> None:
    _filled(here, status)
    days = max(KEPT[kind][1], 1)  # a snapshot expires after a day
    _age_all(days - 0.01)
    with nothing_changes():
        assert _delete(kind) == 0
    _age_all(0.02)
    rows = _count(kind)
    assert rows > 0
    assert _delete(kind) == rows
    assert _count(kind) == 0


@pytest.mark.parametrize("status", sorted(set(STATES) - set(TERMINAL)))
def test_a_job_that_has_not_ended_keeps_its_rows_however_old(here: World, status: str) -> None:
    _filled(here, status)
    sql("DELETE FROM notification; DELETE FROM outbox_event; DELETE FROM admin_audit")
    _age_all(1000)
    with nothing_changes():
        assert {kind: _delete(kind) for kind in KINDS} == dict.fromkeys(KINDS, 0)


@pytest.mark.parametrize("kind", ["job_transition", "ai_usage_log", "ai_job_result"])
def test_old_rows_of_a_job_that_ended_just_now_are_kept(here: World, kind: str) -> None:
    _filled(here, "succeeded")
    _age_all(1000)
    sql(
        "SET session_replication_role = replica;"
        "UPDATE ai_job SET finished_at = now(); RESET session_replication_role"
    )
    assert _delete(kind) == 0


@pytest.mark.parametrize("status", ["pending", "processing", "dead"])
def test_an_event_that_was_not_published_is_kept_however_old(here: World, status: str) -> None:
    _filled(here, "succeeded")
    _age_all(1000)
    sql("UPDATE outbox_event SET status = %(status)s", status=status)
    assert _delete("outbox_event") == 0


def test_a_batch_is_bounded(here: World) -> None:
    here.create()
    sql(
        "INSERT INTO outbox_event (event_type, aggregate_id, dedupe_key, payload, status, "
        "published_at) SELECT 't', gen_random_uuid(), 'key ' || n, '{}', 'published', "
        "now() - interval '2 days' FROM generate_series(1, %(rows)s) n",
        rows=BATCH + 5,
    )
    assert [_delete("outbox_event") for _ in range(3)] == [BATCH, 5, 0]
    assert _count("outbox_event") == 1


def test_the_job_itself_and_what_it_produced_stay(here: World) -> None:
    job = here.finish(here.create())
    _age_all(1000)
    for kind in KINDS:
        _delete(kind)
    assert here.job(job.id).lifecycle_status == "succeeded"
    assert _count("quiz_question") == _count("quiz_question_candidate") > 0
    assert _count("ai_job_artifact") > 0
