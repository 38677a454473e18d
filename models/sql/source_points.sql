-- The points that a snapshot may draw on, with the user's study statistics. Base and point are optional
-- filters. An attempt is a record that says how it went; reading says nothing.
SELECT * FROM (
SELECT point.id, point.title, point.body, point.tags, point.position,
       coalesce(study.attempts, 0) AS attempts, study.accuracy, study.last_seen,
       study.mean_duration_ms, base.created_at, base.id AS base_id
FROM knowledge_point point
JOIN knowledge_base base ON base.id = point.knowledge_base_id
LEFT JOIN LATERAL (
    SELECT count(coalesce(score, correct::int)) AS attempts,
           avg(coalesce(score, correct::int)) AS accuracy,
           max(at) AS last_seen,
           avg(duration_ms)::float AS mean_duration_ms
    FROM study_record
    WHERE user_id = %(user_id)s AND knowledge_point_id = point.id
) study ON true
WHERE base.user_id = %(user_id)s
  AND (%(base)s::uuid IS NULL OR base.id = %(base)s)
  AND (%(point)s::uuid IS NULL OR point.id = %(point)s)
ORDER BY study.last_seen DESC NULLS LAST, point.id
LIMIT %(limit)s
) source
ORDER BY created_at, base_id, position, id
