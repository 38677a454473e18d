-- Re-emits lost hints: claimable engine jobs whose last hint is older than the age, doubled with each hint
-- (five times at most). One statement: the count in the dedupe key grows where the event is written.
WITH stale AS (
    SELECT job.id
    FROM ai_job job
    WHERE {{claimable}}
      AND (job.dispatched_at IS NULL OR job.dispatched_at < now()
           - %(age_seconds)s * power(2, least(job.dispatch_no, 5)) * interval '1 second')
    ORDER BY job.rank_at
    LIMIT %(limit)s
    FOR NO KEY UPDATE OF job SKIP LOCKED
), moved AS (
    UPDATE ai_job job SET dispatch_no = job.dispatch_no + 1, dispatched_at = now()
    FROM stale WHERE job.id = stale.id
    RETURNING job.*
), event AS (
    {{event_of_moved}}
)
SELECT id FROM moved
