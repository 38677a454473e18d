-- A call is about to begin: the fenced checkpoint, the call's row and its reservation, in one statement. Its
-- circuit and the ledger may refuse it (AJ002, AJ001): then nothing of it stays. Calls that an earlier attempt
-- left open become unknown, since nobody will ever say how they ended; that comes first, so that calls are
-- locked before their reservation everywhere.
-- Function (job_id uuid, attempt_no integer, holder text, stage text, progress integer, lease_seconds float8,
-- calls integer, model_provider text, model_name text, output_hash text,
-- call_uuid uuid, tier text, prompt_key text, prompt_version text, request_hash text, input_bound bigint,
-- output_bound bigint, cost_bound bigint, platform_tokens bigint, platform_cost bigint)
-- returns table (call_count integer)
WITH {{checkpoint_ctes}}, closed AS (
    UPDATE ai_usage_log usage
    SET state = 'unknown', finished_at = now(), success = false
    FROM moved
    WHERE usage.job_id = %(job_id)s AND usage.attempt_no < moved.attempt_no
      AND usage.state = 'started'
    RETURNING usage.id
), call AS (
    INSERT INTO ai_usage_log
        (id, job_id, user_id, attempt_no, call_no, call_id, state, tier, provider, model,
         credential_mode, prompt_key, prompt_version, request_hash, circuit_epoch, input_tokens,
         output_tokens, cost_micro_usd, estimated, user_date, month, platform_date)
    SELECT %(call_uuid)s, moved.id, moved.user_id, moved.attempt_no, moved.call_count,
           moved.attempt_no || '-' || moved.call_count, 'started', %(tier)s, %(model_provider)s,
           %(model_name)s, moved.credential_mode, %(prompt_key)s, %(prompt_version)s,
           %(request_hash)s,
           circuit_pass(moved.credential_mode, %(model_provider)s, %(model_name)s, moved.circuit_epoch),
           %(input_bound)s, %(output_bound)s, %(cost_bound)s, true,
           home.user_date, home.month, home.platform_date
    FROM moved
    CROSS JOIN (SELECT count(*) FROM closed) AS earlier
    LEFT JOIN ai_job_reservation home ON home.job_id = %(job_id)s
    RETURNING id
)
SELECT moved.call_count
FROM moved CROSS JOIN call
CROSS JOIN LATERAL ledger_raise(call.id, %(platform_tokens)s, %(platform_cost)s)
