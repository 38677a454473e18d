-- Hints for the jobs that a success makes claimable. Whether all their parents have succeeded is the
-- claim's business: a hint too many finds nothing.
WITH waiting AS (
    SELECT job.id FROM ai_job job
    JOIN ai_job_dependency dependency ON dependency.job_id = job.id
    WHERE dependency.after_job_id = %(job_id)s AND job.lifecycle_status = 'queued'
    ORDER BY job.id
    FOR NO KEY UPDATE OF job
), moved AS (
    UPDATE ai_job job SET dispatch_no = job.dispatch_no + 1, dispatched_at = now()
    FROM waiting WHERE job.id = waiting.id
    RETURNING job.*
), event AS (
    {{event_of_moved}}
)
SELECT id FROM moved
