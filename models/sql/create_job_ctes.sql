-- Edge 1, in one statement: the job, its documents, its history and its event. A clash
-- of the idempotency key (or of the id, when a commit's answer was lost) inserts nothing at all.
WITH moved AS (
    INSERT INTO ai_job
        (id, user_id, job_type, definition_version, target_type, target_id, params, lane, queue_name,
         priority, idempotency_key, request_hash, credential_mode, credential_id,
         credential_version, prompt_version, input_schema_version, output_schema_version, max_retry_count, timeout_seconds,
         retried_from_job_id, dispatch_no, dispatched_at)
    VALUES
        (%(id)s, %(user_id)s, %(job_type)s, %(definition_version)s, %(target_type)s, %(target_id)s,
         %(params)s, %(lane)s, %(queue_name)s, %(priority)s, %(idempotency_key)s, %(request_hash)s,
         %(credential_mode)s, %(credential_id)s, %(credential_version)s, %(prompt_version)s,
         %(input_schema_version)s,
         %(output_schema_version)s, %(max_retry_count)s, %(timeout_seconds)s,
         %(retried_from_job_id)s, 1, now())
    ON CONFLICT DO NOTHING
    RETURNING *
), history AS (
    INSERT INTO job_transition (job_id, to_status, attempt_no, cause, actor)
    SELECT id, lifecycle_status, attempt_no, 'create', %(actor)s FROM moved
), input AS (
    INSERT INTO ai_job_input (job_id, content)
    SELECT id, %(input)s FROM moved WHERE %(input)s IS NOT NULL
), snapshot AS (
    INSERT INTO ai_job_snapshot
        (job_id, schema_version, redaction_version, content, content_hash, expires_at)
    SELECT id, input_schema_version, %(redaction_version)s, %(snapshot)s, %(snapshot_hash)s,
           now() + %(snapshot_hours)s * interval '1 hour'
    FROM moved WHERE %(snapshot)s IS NOT NULL
), dependency AS (
    INSERT INTO ai_job_dependency (job_id, after_job_id)
    SELECT moved.id, parent FROM moved, unnest(%(after)s::uuid[]) AS parent
), event AS (
    {{event_of_moved}}
)
