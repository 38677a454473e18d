-- The end of a job's life, once: the user is told, raw answers are dropped, and a call that nobody will
-- finish any more is put in the books as unknown, at its bound.
-- Function (job_id uuid, notification_id uuid)
-- returns table (id uuid, user_id uuid, job_type text, lifecycle_status text, error_code text, has_dependents boolean)
WITH done AS (
    UPDATE ai_job SET completed_at = now()
    WHERE id = %(job_id)s AND completed_at IS NULL
      AND lifecycle_status IN ('cancelled', 'failed', 'succeeded')
    RETURNING *
), calls AS (
    UPDATE ai_usage_log usage
    SET raw_response = NULL,
        state = CASE usage.state WHEN 'started' THEN 'unknown' ELSE usage.state END,
        success = CASE usage.state WHEN 'started' THEN false ELSE usage.success END,
        finished_at = coalesce(usage.finished_at, now())
    FROM done WHERE usage.job_id = %(job_id)s
), notified AS (
    INSERT INTO notification (id, user_id, job_id, kind, payload)
    SELECT %(notification_id)s, done.user_id, done.id, 'job_' || done.lifecycle_status,
           jsonb_build_object('jobType', done.job_type, 'errorCode', done.error_code)
    FROM done
    ON CONFLICT DO NOTHING
)
SELECT done.id, done.user_id, done.job_type, done.lifecycle_status, done.error_code,
       EXISTS (SELECT FROM ai_job_dependency d WHERE d.after_job_id = %(job_id)s) AS has_dependents
FROM done
