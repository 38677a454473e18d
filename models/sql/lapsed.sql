-- Jobs whose lease and grace have lapsed, and jobs left expired by a reaper that died between its two
-- steps. Busy rows are somebody's work in progress: left for the next pass.
(SELECT id, lifecycle_status FROM ai_job
 WHERE lifecycle_status IN ('locked', 'running')
   AND lock_until < now() - %(grace_seconds)s * interval '1 second'
 ORDER BY lock_until LIMIT %(limit)s)
UNION ALL
(SELECT id, lifecycle_status FROM ai_job WHERE lifecycle_status = 'expired' LIMIT %(limit)s)
