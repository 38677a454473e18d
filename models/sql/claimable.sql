-- The one predicate that says a queued job may be claimed now (lifecycle.md, Claimable); the row is `job`.
-- Parameters: lane; types and versions, parallel arrays of what the executor knows. An executor that
-- knows version n can do the jobs of earlier versions, never of later ones (a rolling deploy).
job.lifecycle_status = 'queued'
    AND job.available_at <= now()
    AND job.lane = %(lane)s
    AND job.cancel_requested_at IS NULL
    AND EXISTS (
        SELECT FROM unnest(%(types)s::text[], %(versions)s::int[]) AS known (job_type, version)
        WHERE known.job_type = job.job_type AND job.definition_version <= known.version)
    AND NOT EXISTS (
        SELECT FROM queue_control control
        WHERE control.queue_name = job.queue_name AND control.paused_at IS NOT NULL)
    AND NOT EXISTS (
        SELECT FROM ai_job_dependency dependency
        JOIN ai_job parent ON parent.id = dependency.after_job_id
        WHERE dependency.job_id = job.id AND parent.lifecycle_status <> 'succeeded')
