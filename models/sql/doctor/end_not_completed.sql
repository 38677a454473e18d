-- A job that has ended is completed soon: its user is told, and those that wait for it go on.
SELECT count(*) AS violations
FROM ai_job
WHERE lifecycle_status IN ('cancelled', 'failed', 'succeeded') AND completed_at IS NULL
  AND finished_at < now() - %(quiet_seconds)s * interval '1 second'
