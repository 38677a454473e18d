"""The documents beside a job: snapshots, inputs, results, artifacts."""

from __future__ import annotations

from uuid import uuid4

import pytest

from aijobs.models import database as db
from aijobs.models import results
from aijobs.models.errors import TargetGone
from aijobs.models.journal import finish_with_result
from aijobs.models.lifecycle import Lease, checkpoint, succeed
from aijobs.models.publication import lock_target
from aijobs.models.results import Artifact, Validated, accept, artifacts_of
from tests.integration.models.states import created, hasty, running, sql
from tests.world import World

VALIDATED = Validated(output={"questions": []}, output_hash="o" * 64, snapshot_hash="s" * 64)


def _rebuild(lease: Lease, content: dict[str, object], hours: float) -> None:
    def work() -> None:
        checkpoint(lease, stage="RESOLVE", progress=20, lease_seconds=60)
        results.drop_validated(lease)
        results.save_snapshot(
            lease,
            content,
            schema_version="2",
            redaction_version="3",
            content_hash="h" * 64,
            hours=hours,
        )

    db.transact("snapshot", work)


def test_a_snapshot_is_stored_with_its_job_and_expires(here: World) -> None:
    job = here.create()
    stored = db.read(lambda: results.snapshot_of(job.id))
    assert stored is not None and not stored.is_expired
    assert len(stored.content["items"]) == 6
    sql("UPDATE ai_job_snapshot SET expires_at = now() - interval '1 s'")
    expired = db.read(lambda: results.snapshot_of(job.id))
    assert expired is not None and expired.is_expired
    sql("DELETE FROM ai_job_snapshot")
    assert db.read(lambda: results.snapshot_of(job.id)) is None


def test_a_rebuilt_snapshot_replaces_the_old_one_and_drops_what_was_made_of_it(
    here: World,
) -> None:
    lease = running(here)
    finish_with_result(lease, None, VALIDATED, lease_seconds=60, patient=hasty)
    _rebuild(lease, {"items": ["new"]}, 2)
    assert sql(
        "SELECT content, content_hash, schema_version, redaction_version, "
        "extract(epoch FROM expires_at - created_at)::float AS seconds FROM ai_job_snapshot"
    ) == [
        {
            "content": {"items": ["new"]},
            "content_hash": "h" * 64,
            "schema_version": "2",
            "redaction_version": "3",
            "seconds": 7200.0,
        }
    ]
    assert db.read(lambda: results.validated_result(lease.job_id)) is None


def test_a_missing_snapshot_is_made(here: World) -> None:
    lease = running(here)
    sql("DELETE FROM ai_job_snapshot")
    _rebuild(lease, {"items": []}, 24)
    assert sql("SELECT count(*) AS n FROM ai_job_snapshot") == [{"n": 1}]


def test_an_accepted_result_is_not_dropped(here: World) -> None:
    lease = running(here)
    finish_with_result(lease, None, VALIDATED, lease_seconds=60, patient=hasty)
    sql("UPDATE ai_job_result SET state = 'accepted'")
    _rebuild(lease, {}, 24)
    found = db.read(lambda: results.validated_result(lease.job_id))
    assert found is not None and found.state == "accepted"


def test_what_only_the_request_held_is_kept_apart(here: World) -> None:
    job = created(here, input={"answerText": "the nucleus"})
    assert db.read(lambda: results.input_of(job.id)) == {"answerText": "the nucleus"}
    assert here.job(job.id).params == {}
    assert db.read(lambda: results.input_of(created(here).id)) == {}


def test_a_result_is_accepted_with_the_artifacts_in_order(here: World) -> None:
    lease = running(here)
    finish_with_result(lease, None, VALIDATED, lease_seconds=60, patient=hasty)
    made = [Artifact("quiz_question_candidate", uuid4(), place) for place in range(3)]

    def work() -> None:
        succeed(lease, output_hash="o" * 64)
        accept(lease, [made[2], made[0], made[1]])
        accept(lease, made)  # a second time is a no-op

    db.transact("project", work)
    other = running(here)
    wanted = [lease.job_id, other.job_id]
    assert db.read(lambda: artifacts_of(wanted)) == {lease.job_id: made}
    assert sql("SELECT state FROM ai_job_result") == [{"state": "accepted"}]
    assert sql("SELECT DISTINCT attempt_no FROM ai_job_artifact") == [{"attempt_no": 1}]


@pytest.mark.parametrize("target_type", ["knowledge_base", "knowledge_point", "material"])
def test_a_target_that_is_gone_is_told(here: World, target_type: str) -> None:
    job = created(here, target_type=target_type, target_id=uuid4())
    with pytest.raises(TargetGone, match=f"{target_type} {job.target_id}"):
        db.transact("project", lambda: lock_target(job))


def test_a_user_is_no_row_to_lock(here: World) -> None:
    job = created(here, target_type="user", target_id=here.user_id)
    db.transact("project", lambda: lock_target(job))
