-- The end of a job's life, once: raw answers are dropped, and a call that nobody will finish any more is
-- put in the books as unknown, at its bound.
WITH done AS (
    UPDATE ai_job SET completed_at = now()
    WHERE id = %(job_id)s AND completed_at IS NULL
      AND lifecycle_status IN ('cancelled', 'failed', 'succeeded')
    RETURNING *
), calls AS (
    UPDATE ai_usage_log
    SET raw_response = NULL,
        state = CASE state WHEN 'started' THEN 'unknown' ELSE state END,
        success = CASE state WHEN 'started' THEN false ELSE success END,
        finished_at = coalesce(finished_at, now())
    FROM done WHERE ai_usage_log.job_id = done.id
)
SELECT * FROM done
