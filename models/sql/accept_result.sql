-- After the fenced succeed of the same transaction: the result is accepted and its artifacts referenced;
-- what is referenced already stays as it is.
-- Function (job_id uuid, types text[], ids uuid[], ordinals integer[], attempt_no integer) returns void
WITH accepted AS (
    UPDATE ai_job_result SET state = 'accepted' WHERE job_id = %(job_id)s
)
INSERT INTO ai_job_artifact (job_id, artifact_type, artifact_id, ordinal, attempt_no)
SELECT %(job_id)s, new.artifact_type, new.artifact_id, new.ordinal, %(attempt_no)s
FROM unnest(%(types)s::text[], %(ids)s::uuid[], %(ordinals)s::int[])
     AS new (artifact_type, artifact_id, ordinal)
ON CONFLICT DO NOTHING
