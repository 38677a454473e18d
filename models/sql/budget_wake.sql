-- Lets the queued jobs of a user that wait for a budget try again now, since the budget has changed. A status
-- does not change, so no edge is taken; each gets a new hint, as with a due time that has come.
WITH waiting AS (
    SELECT job.id
    FROM ai_job job
    WHERE job.user_id = %(user_id)s AND job.lifecycle_status = 'queued' AND job.available_at > now()
      AND 'hand_back:budget' = (
          SELECT cause FROM job_transition WHERE job_id = job.id AND to_status = 'queued'
          ORDER BY id DESC LIMIT 1)
    ORDER BY job.id
    FOR NO KEY UPDATE OF job
), moved AS (
    UPDATE ai_job job
    SET available_at = now(), dispatch_no = job.dispatch_no + 1, dispatched_at = now()
    FROM waiting WHERE job.id = waiting.id
    RETURNING job.*
), event AS (
    {{event_of_moved}}
)
SELECT id FROM moved
