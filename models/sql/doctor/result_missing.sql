-- A job of the last days that succeeded has an accepted result.
SELECT count(*) AS violations
FROM ai_job job
WHERE job.lifecycle_status = 'succeeded' AND job.created_at >= now() - interval '4 days'
  AND NOT EXISTS (
      SELECT FROM ai_job_result result
      WHERE result.job_id = job.id AND result.state = 'accepted')
