-- How a call ended. Token counts that nobody told stay at the call's bounds, estimated. A call that
-- outlasts its job leaves no raw answer behind: COMPLETE has already dropped those.
SET state = %(state)s, finished_at = now(), latency_ms = %(latency_ms)s,
    success = %(state)s = 'completed', http_status = %(http_status)s,
    finish_reason = %(finish_reason)s, response_model = %(response_model)s,
    input_tokens = coalesce(%(input_tokens)s, usage.input_tokens),
    output_tokens = coalesce(%(output_tokens)s, usage.output_tokens),
    cached_tokens = %(cached_tokens)s, reasoning_tokens = %(reasoning_tokens)s,
    estimated = %(input_tokens)s::bigint IS NULL OR %(output_tokens)s::bigint IS NULL,
    cost_micro_usd = CASE WHEN %(input_tokens)s::bigint IS NULL AND %(output_tokens)s::bigint IS NULL
        THEN usage.cost_micro_usd ELSE %(cost_micro_usd)s END,
    error_code = %(error_code)s,
    raw_response = CASE WHEN EXISTS (
        SELECT FROM ai_job job WHERE job.id = usage.job_id AND job.completed_at IS NULL)
        THEN %(raw_response)s END
