-- Today's use of the platform's key is within the platform's daily budget.
SELECT count(*) AS violations
FROM platform_usage_daily
WHERE utc_date >= (now() AT TIME ZONE 'UTC')::date
  AND (tokens_used - tokens_overrun + tokens_reserved > %(platform_tokens)s
       OR cost_used - cost_overrun + cost_reserved > %(platform_cost)s)
