-- No job is under way whose lease lapsed so long ago that two passes of the reaper should have seen it.
SELECT count(*) AS violations
FROM ai_job
WHERE lifecycle_status IN ('locked', 'running', 'expired')
  AND coalesce(lock_until, updated_at) < now() - %(missed_seconds)s * interval '1 second'
