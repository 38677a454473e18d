-- Whether any claimable job of the queue is left, locked or not, as of now.
-- Function (queue_name text, lane text, routes jsonb, types text[], versions integer[]) returns setof boolean
SELECT true
FROM ai_job job
WHERE job.queue_name = %(queue_name)s
  AND {{claimable}}
LIMIT 1
