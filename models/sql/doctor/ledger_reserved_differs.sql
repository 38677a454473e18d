-- What a day or month holds as reserved is what the unsettled reservations of its jobs come to.
WITH held AS (
    SELECT * FROM ai_job_reservation WHERE settled_at IS NULL
), expected AS (
    SELECT 'day' AS kind, user_id::text AS whose, user_date AS period, credential_mode AS mode,
           sum(tokens) AS tokens, sum(cost_micro_usd) AS cost
    FROM held GROUP BY 2, 3, 4
    UNION ALL
    SELECT 'month', user_id::text, month, credential_mode, sum(tokens), sum(cost_micro_usd)
    FROM held GROUP BY 2, 3, 4
    UNION ALL
    SELECT 'platform', '', platform_date, '', sum(tokens), sum(cost_micro_usd)
    FROM held WHERE credential_mode = 'platform_key' GROUP BY 3
), found AS (
    SELECT 'day' AS kind, user_id::text AS whose, local_date AS period, credential_mode AS mode,
           tokens_reserved AS tokens, cost_reserved AS cost
    FROM user_ai_usage_daily
    UNION ALL
    SELECT 'month', user_id::text, month, credential_mode, tokens_reserved, cost_reserved
    FROM user_ai_usage_monthly
    UNION ALL
    SELECT 'platform', '', utc_date, '', tokens_reserved, cost_reserved FROM platform_usage_daily
)
SELECT count(*) AS violations
FROM expected FULL JOIN found USING (kind, whose, period, mode)
WHERE (coalesce(expected.tokens, 0), coalesce(expected.cost, 0))
      IS DISTINCT FROM (coalesce(found.tokens, 0), coalesce(found.cost, 0))
