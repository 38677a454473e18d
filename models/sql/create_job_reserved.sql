-- Edge 1 with its reservation, which may refuse it (AJ001): then nothing of it stays.
{{create_job_ctes}}
SELECT moved.*, ledger_reserve(moved.id, %(tokens)s, %(cost_micro_usd)s, %(platform_tokens)s,
                               %(platform_cost)s) AS reserved
FROM moved
