"""The journal of provider calls: a row is committed before each call and completed after it."""

from __future__ import annotations

from peewee import (
    BigIntegerField,
    BooleanField,
    DateField,
    DateTimeField,
    IntegerField,
    TextField,
    UUIDField,
)

from aijobs.models.tables.base import NOW, Table, default, foreign, index, one_of

CALL_STATES = ("started", "completed", "failed", "cut", "unknown")


class AiUsageLog(Table):
    """One provider call. A `completed` row is reused by any later attempt with its request_hash."""

    id = UUIDField(primary_key=True)
    job_id = UUIDField()
    user_id = UUIDField()
    attempt_no = IntegerField()
    call_no = IntegerField()
    call_id = TextField()
    state = TextField()
    tier = TextField()
    provider = TextField()
    model = TextField()
    response_model = TextField(null=True)
    credential_mode = TextField()
    prompt_key = TextField()
    prompt_version = TextField()
    request_hash = TextField()
    circuit_epoch = IntegerField(null=True)
    http_status = IntegerField(null=True)
    finish_reason = TextField(null=True)
    input_tokens = BigIntegerField(null=True)
    cached_tokens = BigIntegerField(null=True)
    output_tokens = BigIntegerField(null=True)
    reasoning_tokens = BigIntegerField(null=True)
    estimated = BooleanField(constraints=default("false"))
    cost_micro_usd = BigIntegerField(null=True)
    latency_ms = IntegerField(null=True)
    success = BooleanField(null=True)
    error_code = TextField(null=True)
    raw_response = TextField(null=True)  # ASCII JSON; purged when the job is terminal
    started_at = DateTimeField(constraints=NOW)
    finished_at = DateTimeField(null=True)
    user_date = DateField(null=True)  # the ledger's rows that it is charged to
    month = DateField(null=True)
    platform_date = DateField(null=True)

    class Meta:
        table_name = "ai_usage_log"
        constraints = [
            foreign("job_id", "ai_job (id)"),
            one_of("ai_usage_log", "state", *CALL_STATES),
        ]


index(AiUsageLog, "ai_usage_log_call", "job_id, call_id", unique=True)
index(AiUsageLog, "ai_usage_log_by_user", "user_id, started_at")
index(AiUsageLog, "ai_usage_log_by_time", "started_at")
