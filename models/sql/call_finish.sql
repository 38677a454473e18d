-- Completes an attempt's own call. Not fenced by the lease, since the money was spent; it touches nothing
-- but the row of this very call and its route's circuit, and only once.
WITH finished AS (
    UPDATE ai_usage_log usage
    {{call_finish_set}}
    WHERE usage.job_id = %(job_id)s AND usage.attempt_no = %(attempt_no)s
      AND usage.call_id = %(call_id)s AND usage.state IN ('started', 'unknown')
    RETURNING usage.provider, usage.model, usage.circuit_epoch
)
{{circuit_of_finished}}
