-- Any edge of one known job (models/transitions.py): the condition is checked on the locked row, so of two
-- racing callers exactly one finds it true; history and event are part of the same statement.
-- `[condition]` and `[changes]` are filled in by models/lifecycle/edge.py from constants, never from input.
WITH before AS (
    SELECT job.id, job.lifecycle_status
    FROM ai_job job
    WHERE job.id = %(job_id)s AND job.lifecycle_status = ANY (%(sources)s) AND [condition]
    FOR NO KEY UPDATE
), moved AS (
    UPDATE ai_job job
    SET lifecycle_status = %(target)s, [changes]
    FROM before
    WHERE job.id = before.id
    RETURNING job.*
), {{transition_told}}
SELECT * FROM moved
