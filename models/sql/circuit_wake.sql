-- Hints for the jobs on the platform's key that a circuit of theirs has kept waiting and that may be claimed
-- now: those without a hint since it last changed, and while it is half open those without a hint for as long
-- as it would be open: a probe that says nothing of its route (cancelled, refused for its input) wakes nobody.
-- Another route's circuit keeps nobody waiting: half open without traffic, it would hint all others for ever.
-- The moments are worked out per job type and not per job, and the latest of them is asked for first: a long
-- queue is gone through by every pass. Spread, so that they do not come all at once.
WITH moment AS MATERIALIZED (
    SELECT known.job_type,
           max(CASE state WHEN 'closed' THEN changed_at ELSE
                   greatest(changed_at, now() - %(again_seconds)s * interval '1 second') END) AS at
    FROM unnest(%(types)s::text[]) AS known (job_type)
    JOIN platform_circuit circuit
      ON %(routes)s::jsonb -> known.job_type
         @> jsonb_build_array(jsonb_build_array(circuit.provider, circuit.model))
    WHERE state <> 'open'
    GROUP BY known.job_type
), waiting AS (
    SELECT job.id
    FROM ai_job job
    WHERE {{claimable}}
      AND job.credential_mode = 'platform_key'
      AND job.dispatched_at < (SELECT max(moment.at) FROM moment)
      AND job.dispatched_at < (SELECT moment.at FROM moment WHERE moment.job_type = job.job_type)
    ORDER BY job.rank_at
    LIMIT %(limit)s
    FOR NO KEY UPDATE OF job SKIP LOCKED
), woken AS (
    UPDATE ai_job job SET dispatch_no = job.dispatch_no + 1, dispatched_at = now()
    FROM waiting WHERE job.id = waiting.id
    RETURNING job.*
), moved AS (
    SELECT id, job_type, queue_name, priority, lane, dispatch_no, rank_at,
           now() + random() * %(spread_seconds)s * interval '1 second' AS available_at
    FROM woken
), event AS (
    {{event_of_moved}}
)
SELECT id FROM moved
