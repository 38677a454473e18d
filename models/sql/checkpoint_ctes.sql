-- A stage checkpoint as CTEs: fenced, renews the lease, appends to the history. No edge: the status stays.
-- A call to another route gives up the probe that the claim holds: epochs are counted route by route.
moved AS (
    UPDATE ai_job job
    SET stage = %(stage)s, progress = %(progress)s,
        call_count = job.call_count + %(calls)s,
        model_provider = coalesce(%(model_provider)s, job.model_provider),
        model_name = coalesce(%(model_name)s, job.model_name),
        circuit_epoch = CASE
            WHEN (coalesce(%(model_provider)s, job.model_provider), coalesce(%(model_name)s, job.model_name))
                IS NOT DISTINCT FROM (job.model_provider, job.model_name) THEN job.circuit_epoch END,
        output_hash = coalesce(%(output_hash)s, job.output_hash),
        lock_until = now() + %(lease_seconds)s * interval '1 second'
    WHERE job.id = %(job_id)s AND job.attempt_no = %(attempt_no)s AND job.locked_by = %(holder)s
      AND job.lifecycle_status IN ('locked', 'running')
    RETURNING job.*
), history AS (
    INSERT INTO job_transition
        (job_id, from_status, to_status, stage, attempt_no, cause, actor)
    SELECT id, lifecycle_status, lifecycle_status, stage, attempt_no, 'checkpoint', %(holder)s
    FROM moved
)
