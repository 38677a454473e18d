-- A job that waits for one that did not succeed is rejected soon.
SELECT count(*) AS violations
FROM ai_job job
WHERE job.lifecycle_status = 'queued'
  AND EXISTS (
      SELECT FROM ai_job_dependency dependency
      JOIN ai_job parent ON parent.id = dependency.after_job_id
      WHERE dependency.job_id = job.id AND parent.lifecycle_status IN ('cancelled', 'failed')
        AND parent.finished_at < now() - %(quiet_seconds)s * interval '1 second')
