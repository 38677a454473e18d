-- No day of a user goes beyond the user's daily limits (nor beyond those that have acted since that day began).
SELECT count(*) AS violations
FROM user_ai_usage_daily used
JOIN user_ai_settings mine USING (user_id)
CROSS JOIN LATERAL (
    SELECT max((before ->> 'max_daily_ai_jobs')::bigint) AS jobs,
           max((before ->> 'max_daily_token_budget')::bigint) AS tokens
    FROM admin_audit
    WHERE what = 'user.limits' AND target = used.user_id::text AND at >= used.local_date - 1
) earlier
WHERE used.local_date >= current_date - 1
  AND (used.jobs > greatest(mine.max_daily_ai_jobs, earlier.jobs)
       OR used.tokens_used - used.tokens_overrun + used.tokens_reserved
          > greatest(mine.max_daily_token_budget, earlier.tokens))
