-- Unfinished jobs per queue and status, by the partial indexes alone: one equality each, since the planner
-- takes a NOT IN of three statuses for most of the table. `oldest_seconds` is for how long the job that
-- has been due longest has waited: not for its parents, whose own waiting counts. They are looked up from the
-- oldest job on until one waits for none (the scan of a sorted CTE is sorted; an ORDER BY here would look
-- them up for the whole backlog first). OFFSET 0 keeps that a question about one row (see
-- claimable.sql). `missed` are leases that lapsed too long ago.
WITH queued AS MATERIALIZED (
    SELECT id, queue_name, available_at FROM ai_job
    WHERE lifecycle_status = 'queued' ORDER BY available_at)
SELECT queue_name, 'queued' AS status, count(*) AS count, 0::bigint AS missed, 0::bigint AS cancelling,
       (SELECT extract(epoch FROM now() - job.available_at)::float FROM queued job
        WHERE job.queue_name = queues.queue_name AND job.available_at <= now() AND NOT EXISTS (
            SELECT FROM ai_job_dependency dependency
            JOIN ai_job parent ON parent.id = dependency.after_job_id
            WHERE dependency.job_id = job.id AND parent.lifecycle_status <> 'succeeded'
            OFFSET 0)
        LIMIT 1) AS oldest_seconds
FROM queued queues GROUP BY queue_name
UNION ALL
SELECT queue_name, lifecycle_status, count(*),
       count(*) FILTER (WHERE lock_until < now() - %(missed_seconds)s * interval '1 second'),
       count(*) FILTER (WHERE cancel_requested_at IS NOT NULL), NULL
FROM ai_job WHERE lifecycle_status IN ('locked', 'running') GROUP BY queue_name, lifecycle_status
UNION ALL
SELECT queue_name, 'expired', count(*), 0, count(*) FILTER (WHERE cancel_requested_at IS NOT NULL), NULL
FROM ai_job WHERE lifecycle_status = 'expired' GROUP BY queue_name
