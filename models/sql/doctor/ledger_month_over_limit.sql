-- No month of a user goes beyond the user's monthly quota (nor beyond those that have acted in that month).
SELECT count(*) AS violations
FROM user_ai_usage_monthly used
JOIN user_ai_settings mine USING (user_id)
CROSS JOIN LATERAL (
    SELECT max((before ->> 'monthly_token_quota')::bigint) AS tokens,
           coalesce(bool_or(before -> 'monthly_token_quota' = 'null'), false) AS had_none
    FROM admin_audit
    WHERE what = 'user.limits' AND target = used.user_id::text AND at >= used.month - 1
) earlier
WHERE used.month >= date_trunc('month', current_date - 1)
  AND mine.monthly_token_quota IS NOT NULL AND NOT earlier.had_none
  AND used.tokens_used - used.tokens_overrun + used.tokens_reserved
      > greatest(mine.monthly_token_quota, earlier.tokens)
