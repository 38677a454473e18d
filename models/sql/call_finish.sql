-- Completes an attempt's own call. Not fenced by the lease, since the money was spent; it touches nothing
-- but the row of this very call, and only once.
UPDATE ai_usage_log usage
{{call_finish_set}}
WHERE usage.job_id = %(job_id)s AND usage.attempt_no = %(attempt_no)s
  AND usage.call_id = %(call_id)s AND usage.state IN ('started', 'unknown')
