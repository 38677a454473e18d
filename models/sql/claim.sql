-- Edge 2. The best claimable job of a queue, by rank; among equals in rank the higher priority, then age.
-- The CTE picks and locks, since a planner may update more rows than a LIMIT in a subquery says; SKIP
-- LOCKED lets two workers claim two jobs at once. A probe of a half-open circuit is counted under the
-- circuit's lock: who comes too late for one moves nothing.
-- Function (queue_name text, holder text, lease_seconds float8, lane text, routes jsonb, types text[], versions integer[])
-- returns setof ai_job
WITH candidate AS (
    SELECT job.id, job.job_type, job.credential_mode
    FROM ai_job job
    WHERE job.queue_name = %(queue_name)s
      AND {{claimable}}
    ORDER BY job.rank_at, job.priority, job.created_at
    LIMIT 1
    FOR NO KEY UPDATE OF job SKIP LOCKED
), moved AS (
    UPDATE ai_job job
    SET lifecycle_status = 'running', attempt_no = job.attempt_no + 1, locked_by = %(holder)s,
        locked_at = now(), lock_until = now() + %(lease_seconds)s * interval '1 second',
        started_at = now(), stage = 'PREPARE', progress = 10,
        circuit_epoch = ticket.epoch, model_provider = coalesce(ticket.provider, job.model_provider),
        model_name = coalesce(ticket.model, job.model_name)
    FROM candidate
    CROSS JOIN LATERAL circuit_ticket(
        %(routes)s::jsonb, candidate.job_type, candidate.credential_mode, true) ticket
    WHERE job.id = (SELECT id FROM candidate) AND ticket.admitted
    RETURNING job.*
), history AS (
    INSERT INTO job_transition
        (job_id, from_status, to_status, stage, attempt_no, cause, actor)
    SELECT id, 'queued', lifecycle_status, stage, attempt_no, 'claim', %(holder)s FROM moved
)
SELECT * FROM moved
