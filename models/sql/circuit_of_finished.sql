-- The call's outcome for its circuit, in the statement that finishes the call. A user's key has none, and who
-- has lost the lease may have slept: nothing is told of the route then.
SELECT record.state, record.changed
FROM (
    SELECT * FROM finished
    WHERE finished.circuit_epoch IS NOT NULL
      AND EXISTS (
          SELECT FROM ai_job job
          WHERE job.id = %(job_id)s AND job.attempt_no = %(attempt_no)s
            AND job.locked_by = %(holder)s)
    OFFSET 0) told
CROSS JOIN LATERAL circuit_record(
    told.provider, told.model, told.circuit_epoch, %(verdict)s, %(error_code)s,
    %(holder)s, %(circuit_failures)s, %(circuit_open_seconds)s) record
