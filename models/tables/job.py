"""A job and what belongs to it alone. `ai_job` is narrow: documents live beside it."""

from __future__ import annotations

from peewee import (
    SQL,
    BigAutoField,
    BigIntegerField,
    CompositeKey,
    DateField,
    DateTimeField,
    IntegerField,
    JSONField,
    SmallIntegerField,
    TextField,
    UUIDField,
)

from aijobs.models.tables.base import NOW, Table, default, foreign, index, one_of, rule, words
from aijobs.models.transitions import ACTIVE, LEGACY_STATUS, STATUSES, TERMINAL

_ACTIVE = words(sorted(ACTIVE))
_TERMINAL = words(sorted(TERMINAL))
_LEGACY = " ".join(f"WHEN '{new}' THEN '{old}'" for new, old in LEGACY_STATUS.items())
_OF_JOB = foreign("job_id", "ai_job (id)")


class AiJob(Table):
    """One request for AI work by one user. Only models.lifecycle writes `lifecycle_status`."""

    id = UUIDField(primary_key=True)
    user_id = UUIDField()
    job_type = TextField()
    definition_version = IntegerField()
    target_type = TextField()
    target_id = UUIDField()
    params = JSONField(constraints=default("'{}'::jsonb"))
    lane = TextField(constraints=default("'engine'"))
    queue_name = TextField()
    priority = SmallIntegerField()
    rank_at = DateTimeField(constraints=NOW)  # by trigger: available_at + priority x 60 s
    lifecycle_status = TextField(constraints=default("'queued'"))
    status = TextField(
        null=True,
        constraints=[SQL(f"GENERATED ALWAYS AS (CASE lifecycle_status {_LEGACY} END) STORED")],
    )
    stage = TextField(null=True)
    progress = SmallIntegerField(constraints=default("0"))
    idempotency_key = TextField(null=True)
    request_hash = TextField()
    credential_mode = TextField()
    credential_id = UUIDField(null=True)
    credential_version = IntegerField(null=True)
    model_provider = TextField(null=True)
    model_name = TextField(null=True)
    prompt_version = TextField()
    input_schema_version = TextField()
    output_schema_version = TextField()
    attempt_no = IntegerField(constraints=default("0"))
    retry_count = IntegerField(constraints=default("0"))
    max_retry_count = IntegerField()
    internal_retry_count = IntegerField(constraints=default("0"))
    crash_count = IntegerField(constraints=default("0"))
    hand_back_count = IntegerField(constraints=default("0"))
    call_count = IntegerField(constraints=default("0"))
    timeout_seconds = IntegerField()
    retried_from_job_id = UUIDField(null=True)
    locked_by = TextField(null=True)
    locked_at = DateTimeField(null=True)
    lock_until = DateTimeField(null=True)
    available_at = DateTimeField(constraints=NOW)
    started_at = DateTimeField(null=True)
    finished_at = DateTimeField(null=True)
    completed_at = DateTimeField(null=True)
    cancel_requested_at = DateTimeField(null=True)
    cancel_reason = TextField(null=True)
    dispatch_no = IntegerField(constraints=default("0"))
    dispatched_at = DateTimeField(null=True)
    error_code = TextField(null=True)
    public_error_message = TextField(null=True)
    internal_error_message = TextField(null=True)
    output_hash = TextField(null=True)
    circuit_epoch = IntegerField(null=True)  # the half-open circuit that its claim probes
    created_at = DateTimeField(constraints=NOW)
    updated_at = DateTimeField(constraints=NOW)

    class Meta:
        table_name = "ai_job"
        constraints = [
            one_of("ai_job", "lifecycle_status", *STATUSES),
            one_of("ai_job", "lane", "engine", "runtime"),
            rule("ai_job_priority_range", "priority BETWEEN 0 AND 100"),
            rule("ai_job_progress_range", "progress BETWEEN 0 AND 100"),
            rule("ai_job_lease", f"(lifecycle_status IN {_ACTIVE}) = (lock_until IS NOT NULL)"),
            rule("ai_job_holder", "(lock_until IS NULL) = (locked_by IS NULL)"),
            rule("ai_job_started", "lifecycle_status <> 'running' OR started_at IS NOT NULL"),
            rule(
                "ai_job_finished", f"(lifecycle_status IN {_TERMINAL}) = (finished_at IS NOT NULL)"
            ),
            rule("ai_job_completed", "completed_at IS NULL OR finished_at IS NOT NULL"),
            rule("ai_job_error", "lifecycle_status <> 'failed' OR error_code IS NOT NULL"),
            rule(
                "ai_job_queued_uncancelled",
                "lifecycle_status <> 'queued' OR cancel_requested_at IS NULL",
            ),
            rule(
                "ai_job_internal_message_size",
                "octet_length(internal_error_message) <= 4096",
            ),
        ]


index(AiJob, "ai_job_idempotency", "user_id, job_type, idempotency_key", unique=True)
index(
    AiJob,
    "ai_job_unfinished_retry",
    "retried_from_job_id",
    unique=True,
    where=f"retried_from_job_id IS NOT NULL AND lifecycle_status NOT IN {_TERMINAL}",
)
index(AiJob, "ai_job_queued", "lane, queue_name, rank_at", where="lifecycle_status = 'queued'")
index(AiJob, "ai_job_leased", "lock_until", where=f"lifecycle_status IN {_ACTIVE}")
index(AiJob, "ai_job_expired", "id", where="lifecycle_status = 'expired'")
index(AiJob, "ai_job_unfinished", "user_id", where=f"lifecycle_status NOT IN {_TERMINAL}")
index(
    AiJob,
    "ai_job_uncompleted",
    "finished_at",
    where=f"lifecycle_status IN {_TERMINAL} AND completed_at IS NULL",
)
index(AiJob, "ai_job_by_user", "user_id, created_at, id")
index(AiJob, "ai_job_by_target", "user_id, target_type, target_id, created_at, id")
index(AiJob, "ai_job_by_time", "created_at, id")
index(AiJob, "ai_job_by_status", "lifecycle_status, created_at, id")
index(AiJob, "ai_job_by_type", "job_type, created_at, id")
index(AiJob, "ai_job_by_error", "error_code, created_at, id", where="error_code IS NOT NULL")


class AiJobInput(Table):
    """What only the request holds (answerText), until the job is terminal."""

    job_id = UUIDField(primary_key=True)
    content = JSONField()

    class Meta:
        table_name = "ai_job_input"
        constraints = [_OF_JOB]


class AiJobSnapshot(Table):
    """The frozen, redacted input of a job."""

    job_id = UUIDField(primary_key=True)
    schema_version = TextField()
    redaction_version = TextField()
    content = JSONField()
    content_hash = TextField()
    expires_at = DateTimeField()
    created_at = DateTimeField(constraints=NOW)

    class Meta:
        table_name = "ai_job_snapshot"
        constraints = [_OF_JOB]


index(AiJobSnapshot, "ai_job_snapshot_expiry", "expires_at")


class AiJobResult(Table):
    """The validated output of an attempt; `accepted` once it is projected."""

    job_id = UUIDField(primary_key=True)
    attempt_no = IntegerField()
    state = TextField()
    output = JSONField()
    output_hash = TextField()
    snapshot_hash = TextField()
    result_key = TextField()
    submitted_by = TextField()
    requested_count = IntegerField(null=True)
    delivered_count = IntegerField(null=True)
    created_at = DateTimeField(constraints=NOW)

    class Meta:
        table_name = "ai_job_result"
        constraints = [_OF_JOB, one_of("ai_job_result", "state", "validated", "accepted")]


index(AiJobResult, "ai_job_result_key", "result_key", unique=True)


class AiJobArtifact(Table):
    """A business row that a job produced, in the order of the output."""

    job_id = UUIDField()
    artifact_type = TextField()
    artifact_id = UUIDField()
    ordinal = IntegerField()
    attempt_no = IntegerField()
    created_at = DateTimeField(constraints=NOW)

    class Meta:
        table_name = "ai_job_artifact"
        primary_key = CompositeKey("job_id", "artifact_type", "artifact_id")
        constraints = [_OF_JOB]


index(AiJobArtifact, "ai_job_artifact_ordinal", "job_id, artifact_type, ordinal", unique=True)


class AiJobDependency(Table):
    """`job_id` waits until `after_job_id` has succeeded."""

    job_id = UUIDField()
    after_job_id = UUIDField()

    class Meta:
        table_name = "ai_job_dependency"
        primary_key = CompositeKey("job_id", "after_job_id")
        constraints = [_OF_JOB, foreign("after_job_id", "ai_job (id)")]


index(AiJobDependency, "ai_job_dependency_parent", "after_job_id")


class AiJobReservation(Table):
    """Which day rows this job holds, whatever the calendar says when it ends."""

    job_id = UUIDField(primary_key=True)
    user_id = UUIDField()
    user_date = DateField()
    month = DateField()
    platform_date = DateField()
    credential_mode = TextField()
    jobs = IntegerField(constraints=default("0"))
    tokens = BigIntegerField(constraints=default("0"))
    cost_micro_usd = BigIntegerField(constraints=default("0"))
    settled_at = DateTimeField(null=True)
    tokens_booked = BigIntegerField(constraints=default("0"))  # what it put into the books
    cost_booked = BigIntegerField(constraints=default("0"))

    class Meta:
        table_name = "ai_job_reservation"
        constraints = [
            _OF_JOB,
            rule("ai_job_reservation_sign", "jobs >= 0 AND tokens >= 0 AND cost_micro_usd >= 0"),
        ]


class JobTransition(Table):
    """Append-only history: transitions and stage checkpoints. Its id is the SSE event id."""

    id = BigAutoField(primary_key=True)
    job_id = UUIDField()
    from_status = TextField(null=True)
    to_status = TextField()
    stage = TextField(null=True)
    attempt_no = IntegerField()
    cause = TextField()
    actor = TextField()
    error_code = TextField(null=True)
    at = DateTimeField(constraints=NOW)

    class Meta:
        table_name = "job_transition"
        constraints = [_OF_JOB]


index(JobTransition, "job_transition_job", "job_id, id")
index(JobTransition, "job_transition_at", "at")
