-- The outbox event of a transition: per dispatch for a queued job, per job for a terminal one. A job of
-- the runtime lane is polled for, so nothing is enqueued for it.
INSERT INTO outbox_event
    (event_type, aggregate_id, dedupe_key, payload, rank_at, available_at)
SELECT
    %(event)s,
    moved.id,
    CASE WHEN %(event)s = 'ai.job.enqueue'
         THEN 'enqueue:' || moved.id || ':' || moved.dispatch_no
         ELSE %(event)s || ':' || moved.id END,
    jsonb_build_object('jobId', moved.id, 'jobType', moved.job_type,
                       'queueName', moved.queue_name, 'priority', moved.priority),
    CASE WHEN %(event)s = 'ai.job.enqueue' THEN moved.rank_at ELSE now() END,
    CASE WHEN %(event)s = 'ai.job.enqueue' THEN moved.available_at ELSE now() END
FROM moved
WHERE %(event)s IS NOT NULL AND (moved.lane = 'engine' OR %(event)s <> 'ai.job.enqueue')
ON CONFLICT (dedupe_key) DO NOTHING
