-- A call of the last days that nobody is making any more is not left as started.
SELECT count(*) AS violations
FROM ai_usage_log call
JOIN ai_job job ON job.id = call.job_id
WHERE call.state = 'started'
  AND call.started_at >= now() - interval '4 days'
  AND job.completed_at < now() - %(quiet_seconds)s * interval '1 second'
