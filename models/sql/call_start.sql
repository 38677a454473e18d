-- A call is about to begin: the fenced checkpoint and the call's row, in one statement. Calls that an
-- earlier attempt left open become unknown: nobody will ever say how they ended.
WITH {{checkpoint_ctes}}, closed AS (
    UPDATE ai_usage_log usage
    SET state = 'unknown', finished_at = now(), success = false
    FROM moved
    WHERE usage.job_id = moved.id AND usage.attempt_no < moved.attempt_no
      AND usage.state = 'started'
), call AS (
    INSERT INTO ai_usage_log
        (id, job_id, user_id, attempt_no, call_no, call_id, state, tier, provider, model,
         credential_mode, prompt_key, prompt_version, request_hash, input_tokens, output_tokens,
         estimated)
    SELECT %(call_uuid)s, moved.id, moved.user_id, moved.attempt_no, moved.call_count,
           moved.attempt_no || '-' || moved.call_count, 'started', %(tier)s, %(model_provider)s,
           %(model_name)s, moved.credential_mode, %(prompt_key)s, %(prompt_version)s,
           %(request_hash)s, %(input_bound)s, %(output_bound)s, true
    FROM moved
)
SELECT call_count FROM moved
