-- Renews the leases of one process. Rows are locked in id order and busy ones are left for the next beat:
-- a row not returned is lost only if a plain read says so.
WITH held AS (
    SELECT job.id
    FROM ai_job job
    JOIN unnest(%(job_ids)s::uuid[], %(attempt_nos)s::int[]) AS mine (id, attempt_no)
      ON mine.id = job.id AND mine.attempt_no = job.attempt_no
    WHERE job.locked_by = %(holder)s AND job.lifecycle_status IN ('locked', 'running')
    ORDER BY job.id
    FOR NO KEY UPDATE OF job SKIP LOCKED
)
UPDATE ai_job job
SET lock_until = now() + %(lease_seconds)s * interval '1 second'
FROM held
WHERE job.id = held.id
RETURNING job.id, job.attempt_no, job.cancel_requested_at IS NOT NULL AS cancel_requested
