-- EXECUTE's checkpoint in one statement: fenced, with the call that brought the answer (call_id null: an
-- earlier attempt's answer was read again) and the validated result.
-- Function (job_id uuid, attempt_no integer, holder text, stage text, progress integer, lease_seconds float8,
-- calls integer, model_provider text, model_name text, output_hash text,
-- call_id text, state text, latency_ms integer, http_status integer, finish_reason text, response_model text,
-- input_tokens bigint, output_tokens bigint, cached_tokens bigint, reasoning_tokens bigint,
-- cost_micro_usd bigint, error_code text, raw_response text, verdict text, circuit_failures integer,
-- circuit_open_seconds float8, output jsonb, snapshot_hash text, requested_count integer,
-- delivered_count integer)
-- returns table (id uuid, state text, changed boolean)
WITH {{checkpoint_ctes}}, finished AS (
    UPDATE ai_usage_log usage
    {{call_finish_set}}
    FROM moved
    WHERE usage.job_id = %(job_id)s AND usage.attempt_no = %(attempt_no)s
      AND usage.call_id = %(call_id)s AND usage.state IN ('started', 'unknown')
    RETURNING usage.provider, usage.model, usage.circuit_epoch
), saved AS (
    INSERT INTO ai_job_result
        (job_id, attempt_no, state, output, output_hash, snapshot_hash, result_key, submitted_by,
         requested_count, delivered_count)
    SELECT moved.id, moved.attempt_no, 'validated', %(output)s, %(output_hash)s, %(snapshot_hash)s,
           moved.id || ':' || moved.attempt_no || ':' || %(output_hash)s, %(holder)s,
           %(requested_count)s, %(delivered_count)s
    FROM moved
    ON CONFLICT (job_id) DO UPDATE
    SET attempt_no = excluded.attempt_no, output = excluded.output,
        output_hash = excluded.output_hash, snapshot_hash = excluded.snapshot_hash,
        result_key = excluded.result_key, submitted_by = excluded.submitted_by,
        requested_count = excluded.requested_count, delivered_count = excluded.delivered_count
    WHERE ai_job_result.state = 'validated'
), circuit AS (
    {{circuit_of_finished}}
)
SELECT moved.id, circuit.state, circuit.changed FROM moved LEFT JOIN circuit ON true
