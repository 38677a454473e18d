-- Unfinished jobs per queue and status, by the partial indexes alone: one equality each, since the planner
-- takes a NOT IN of three statuses for most of the table. `oldest_seconds` is for how long the job that
-- has been due longest has waited: not for its parents, whose own waiting counts. OFFSET 0 keeps that a
-- question about one row (see claimable.sql). `missed` are leases that lapsed too long ago.
SELECT job.queue_name, 'queued' AS status, count(*) AS count, 0::bigint AS missed, 0::bigint AS cancelling,
       max(extract(epoch FROM now() - job.available_at)::float) FILTER (
           WHERE job.available_at <= now() AND NOT EXISTS (
               SELECT FROM ai_job_dependency dependency
               JOIN ai_job parent ON parent.id = dependency.after_job_id
               WHERE dependency.job_id = job.id AND parent.lifecycle_status <> 'succeeded'
               OFFSET 0)) AS oldest_seconds
FROM ai_job job WHERE job.lifecycle_status = 'queued' GROUP BY job.queue_name
UNION ALL
SELECT queue_name, lifecycle_status, count(*),
       count(*) FILTER (WHERE lock_until < now() - %(missed_seconds)s * interval '1 second'),
       count(*) FILTER (WHERE cancel_requested_at IS NOT NULL), NULL
FROM ai_job WHERE lifecycle_status IN ('locked', 'running') GROUP BY queue_name, lifecycle_status
UNION ALL
SELECT queue_name, 'expired', count(*), 0, count(*) FILTER (WHERE cancel_requested_at IS NOT NULL), NULL
FROM ai_job WHERE lifecycle_status = 'expired' GROUP BY queue_name
