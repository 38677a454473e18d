-- Hints for the jobs on the platform's key that a circuit has kept waiting and that may be claimed now: those
-- without a hint since a circuit last changed, and, while one is half open with a free probe, those without a
-- hint for as long as it was open (a probe may end without a word about its route). Spread, so that they do
-- not come all at once.
WITH waiting AS (
    SELECT job.id
    FROM ai_job job
    WHERE {{claimable}}
      AND job.credential_mode = 'platform_key'
      AND job.dispatched_at < (
          SELECT max(CASE state WHEN 'half_open' THEN greatest(changed_at, now()
                                - %(again_seconds)s * interval '1 second') ELSE changed_at END)
          FROM platform_circuit WHERE state <> 'open')
    ORDER BY job.rank_at
    LIMIT %(limit)s
    FOR NO KEY UPDATE OF job SKIP LOCKED
), woken AS (
    UPDATE ai_job job SET dispatch_no = job.dispatch_no + 1, dispatched_at = now()
    FROM waiting WHERE job.id = waiting.id
    RETURNING job.*
), moved AS (
    SELECT id, job_type, queue_name, priority, lane, dispatch_no, rank_at,
           now() + random() * %(spread_seconds)s * interval '1 second' AS available_at
    FROM woken
), event AS (
    {{event_of_moved}}
)
SELECT id FROM moved
