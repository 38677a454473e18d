-- A batch of due events for one relay, best rank first. The CTE picks and locks; SKIP LOCKED lets relays
-- work side by side. Ids are no cursor: commit order is not id order.
-- Function (limit integer, relay text)
-- returns table (id bigint, event_type text, aggregate_id uuid, payload jsonb, rank_at timestamptz, attempt_count integer)
WITH batch AS (
    SELECT id FROM outbox_event
    WHERE status = 'pending' AND available_at <= now()
    ORDER BY rank_at, id
    LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
), taken AS (
    UPDATE outbox_event event
    SET status = 'processing', locked_by = %(relay)s, locked_at = now()
    WHERE event.id = ANY (ARRAY (SELECT id FROM batch))
    RETURNING event.id, event.event_type, event.aggregate_id, event.payload, event.rank_at,
              event.attempt_count
)
SELECT * FROM taken ORDER BY rank_at, id
