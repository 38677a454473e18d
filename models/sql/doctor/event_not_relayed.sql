-- An event that is due is relayed soon.
SELECT count(*) AS violations
FROM outbox_event
WHERE (status = 'pending' AND available_at < now() - %(quiet_seconds)s * interval '1 second')
   OR (status = 'processing' AND locked_at < now() - %(quiet_seconds)s * interval '1 second')
