-- Sends the terminal event again for jobs that ended some time ago and were never completed: a COMPLETE
-- was lost with the broker. The event's row may have been purged, so it is written or woken.
INSERT INTO outbox_event (event_type, aggregate_id, dedupe_key, payload)
SELECT kind.event, job.id, kind.event || ':' || job.id,
       jsonb_build_object('jobId', job.id, 'jobType', job.job_type,
                          'queueName', job.queue_name, 'priority', job.priority)
FROM (
    SELECT * FROM ai_job
    WHERE lifecycle_status IN ('cancelled', 'failed', 'succeeded') AND completed_at IS NULL
      AND finished_at < now() - %(age_seconds)s * interval '1 second'
    ORDER BY finished_at LIMIT %(limit)s
) job
CROSS JOIN LATERAL (
    SELECT CASE job.lifecycle_status WHEN 'succeeded' THEN 'ai.job.completed'
                                     WHEN 'failed' THEN 'ai.job.failed'
                                     ELSE 'ai.job.cancelled' END AS event
) kind
ON CONFLICT (dedupe_key) DO UPDATE
SET status = 'pending', available_at = now(), published_at = NULL
WHERE outbox_event.status = 'published'
  AND outbox_event.published_at < now() - %(age_seconds)s * interval '1 second'
RETURNING aggregate_id AS id
