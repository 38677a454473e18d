-- The history and the event of a transition from `before` to `moved`, as CTEs.
history AS (
    INSERT INTO job_transition
        (job_id, from_status, to_status, stage, attempt_no, cause, actor, error_code)
    SELECT moved.id, before.lifecycle_status, moved.lifecycle_status, moved.stage, moved.attempt_no,
           %(cause)s, %(actor)s, %(error_code)s
    FROM moved JOIN before ON before.id = moved.id
), event AS (
    {{event_of_moved}}
)
