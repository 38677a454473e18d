-- Unpublished events per status, each by its partial index; published ones are history. What is not due
-- yet (a hint for after a backoff) does not wait, and what is dead waits for nobody.
SELECT 'pending' AS status, count(*) AS count,
       max(extract(epoch FROM now() - available_at)::float) FILTER (WHERE available_at <= now()) AS oldest_seconds
FROM outbox_event WHERE status = 'pending'
UNION ALL
SELECT 'processing', count(*), max(extract(epoch FROM now() - available_at)::float)
FROM outbox_event WHERE status = 'processing'
UNION ALL
SELECT 'dead', count(*), NULL FROM outbox_event WHERE status = 'dead'
