-- Why a queued job is not running: the conditions of sql/claimable.sql one by one, the strongest first. What
-- passes them all waits for a worker of its queue, or (not is_claimable) for one that knows it.
SELECT
    CASE WHEN parents.open > 0 THEN 'dependencies'
         WHEN control.paused_at IS NOT NULL THEN 'queue_paused'
         WHEN job.available_at > now() THEN
             CASE WHEN last.cause = 'hand_back:budget' THEN 'budget' ELSE 'due_time' END
         WHEN NOT ticket.admitted THEN 'circuit_open'
         ELSE 'queue' END AS reason,
    CASE WHEN parents.open > 0 THEN job.created_at
         WHEN control.paused_at IS NOT NULL THEN greatest(control.paused_at, job.created_at)
         WHEN job.available_at > now() THEN job.updated_at
         WHEN NOT ticket.admitted THEN greatest(job.created_at, circuits.opened_at)
         ELSE job.available_at END AS since,
    job.queue_name, parents.open AS open_parents, job.available_at AS due_at,
    ({{claimable}}) AS is_claimable
FROM ai_job job
LEFT JOIN queue_control control ON control.queue_name = job.queue_name
CROSS JOIN LATERAL (
    SELECT count(*) AS open
    FROM ai_job_dependency dependency
    JOIN ai_job parent ON parent.id = dependency.after_job_id
    WHERE dependency.job_id = job.id AND parent.lifecycle_status <> 'succeeded'
) parents
CROSS JOIN LATERAL circuit_ticket(
    %(routes)s::jsonb, job.job_type, job.credential_mode, false) ticket
CROSS JOIN LATERAL (
    SELECT max(circuit.opened_at) AS opened_at FROM platform_circuit circuit
    WHERE %(routes)s::jsonb -> job.job_type
          @> jsonb_build_array(jsonb_build_array(circuit.provider, circuit.model))
) circuits
LEFT JOIN LATERAL (
    SELECT cause FROM job_transition WHERE job_id = job.id AND to_status = 'queued'
    ORDER BY id DESC LIMIT 1
) last ON true
WHERE job.id = %(job_id)s
