-- Jobs whose lease and grace have lapsed, and jobs left expired by a reaper that died between its two
-- steps. Busy rows are somebody's work in progress: left for the next pass. Those that this pass has tried
-- are passed over, so that rows which cannot be moved never hide the others.
(SELECT id, lifecycle_status FROM ai_job
 WHERE lifecycle_status IN ('locked', 'running')
   AND lock_until < now() - %(grace_seconds)s * interval '1 second'
   AND NOT id = ANY (%(tried)s::uuid[])
 ORDER BY lock_until LIMIT %(limit)s)
UNION ALL
(SELECT id, lifecycle_status FROM ai_job WHERE lifecycle_status = 'expired'
   AND NOT id = ANY (%(tried)s::uuid[]) LIMIT %(limit)s)
