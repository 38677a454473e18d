-- A job that has ended holds nothing: its reservation is settled.
SELECT count(*) AS violations
FROM ai_job_reservation held
JOIN ai_job job ON job.id = held.job_id
WHERE held.settled_at IS NULL AND job.lifecycle_status IN ('cancelled', 'failed', 'succeeded')
