-- Edge 5, the one that every job takes: sql/transition.sql with its condition and changes written in, so
-- that it is a statement of its own.
-- Function (job_id uuid, sources text[], attempt_no integer, holder text, target text, output_hash text,
-- cause text, actor text, error_code text, event text)
-- returns setof ai_job
WITH before AS (
    SELECT job.id, job.lifecycle_status
    FROM ai_job job
    WHERE job.id = %(job_id)s AND job.lifecycle_status = ANY (%(sources)s)
      AND job.attempt_no = %(attempt_no)s AND job.locked_by = %(holder)s
    FOR NO KEY UPDATE
), moved AS (
    UPDATE ai_job job
    SET lifecycle_status = %(target)s, stage = 'PROJECT', progress = 100, finished_at = now(),
        locked_by = NULL, locked_at = NULL, lock_until = NULL, output_hash = %(output_hash)s,
        error_code = NULL, public_error_message = NULL, internal_error_message = NULL
    WHERE job.id = (SELECT id FROM before)
    RETURNING job.*
), {{transition_told}}
SELECT * FROM moved
