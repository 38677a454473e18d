-- Edge 1 with its reservation, which may refuse it (AJ001): then nothing of it stays.
-- Function (id uuid, user_id uuid, job_type text, definition_version integer, target_type text, target_id uuid,
-- params jsonb, lane text, queue_name text, priority integer, idempotency_key text, request_hash text,
-- credential_mode text, credential_id uuid, credential_version integer, prompt_version text,
-- input_schema_version text, output_schema_version text, max_retry_count integer, timeout_seconds integer,
-- retried_from_job_id uuid, actor text, input jsonb, redaction_version text, snapshot jsonb,
-- snapshot_hash text, snapshot_hours float8, after uuid[], event text, tokens bigint, cost_micro_usd bigint,
-- platform_tokens bigint, platform_cost bigint)
-- returns setof ai_job
{{create_job_ctes}}
SELECT moved.*
FROM moved
CROSS JOIN LATERAL ledger_reserve(
    moved.id, %(tokens)s, %(cost_micro_usd)s, %(platform_tokens)s, %(platform_cost)s)
