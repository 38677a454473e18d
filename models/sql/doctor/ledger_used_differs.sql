-- What the days since yesterday hold as used is what their calls came to, but those that a reservation still covers.
WITH call AS (
    SELECT log.*, coalesce(log.input_tokens, 0) + coalesce(log.output_tokens, 0) AS tokens,
           coalesce(log.cost_micro_usd, 0) AS cost
    FROM ai_usage_log log
    JOIN ai_job_reservation home USING (job_id)
    WHERE log.started_at >= now() - interval '4 days'
      AND NOT (home.settled_at IS NULL
               AND (log.user_date, log.month, log.platform_date)
                   = (home.user_date, home.month, home.platform_date))
), expected AS (
    SELECT 'day' AS kind, user_id::text AS whose, user_date AS period, credential_mode AS mode,
           sum(tokens) AS tokens, sum(cost) AS cost
    FROM call GROUP BY 2, 3, 4
    UNION ALL
    SELECT 'platform', '', platform_date, '', sum(tokens), sum(cost)
    FROM call WHERE credential_mode = 'platform_key' GROUP BY 3
), found AS (
    SELECT 'day' AS kind, user_id::text AS whose, local_date AS period, credential_mode AS mode,
           tokens_used AS tokens, cost_used AS cost
    FROM user_ai_usage_daily
    UNION ALL
    SELECT 'platform', '', utc_date, '', tokens_used, cost_used FROM platform_usage_daily
)
SELECT count(*) AS violations
FROM expected FULL JOIN found USING (kind, whose, period, mode)
WHERE period >= current_date - 1
  AND (coalesce(expected.tokens, 0), coalesce(expected.cost, 0))
      IS DISTINCT FROM (coalesce(found.tokens, 0), coalesce(found.cost, 0))
