-- The one predicate that says a queued job may be claimed now (lifecycle.md, Claimable); the row is `job`.
-- Parameters: lane; routes, which maps job types to routes; types and versions, parallel arrays of what the
-- executor knows. An executor that knows version n can do the jobs of earlier versions, never of later ones (a rolling deploy).
-- OFFSET 0 keeps each EXISTS a question about one row. As a join it is taken for so selective that the
-- planner sorts the whole backlog for one claim, instead of reading ai_job_queued up to the first hit. For the
-- same reason a parent is looked up by its key and not joined.
job.lifecycle_status = 'queued'
    AND job.available_at <= now()
    AND job.lane = %(lane)s
    AND job.cancel_requested_at IS NULL
    AND EXISTS (
        SELECT FROM unnest(%(types)s::text[], %(versions)s::int[]) AS known (job_type, version)
        WHERE known.job_type = job.job_type AND job.definition_version <= known.version
        OFFSET 0)
    AND NOT EXISTS (
        SELECT FROM queue_control control
        WHERE control.queue_name = job.queue_name AND control.paused_at IS NOT NULL
        OFFSET 0)
    AND NOT EXISTS (
        SELECT FROM ai_job_dependency dependency
        WHERE dependency.job_id = job.id AND 'succeeded' <> (
            SELECT parent.lifecycle_status FROM ai_job parent
            WHERE parent.id = dependency.after_job_id)
        OFFSET 0)
    AND (SELECT ticket.admitted
         FROM circuit_ticket(%(routes)s::jsonb, job.job_type, job.credential_mode, false) ticket)
