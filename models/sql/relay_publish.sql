-- Events that were sent; those whose lock was released are left to their new holder.
-- Function (ids bigint[], relay text) returns void
UPDATE outbox_event
SET status = 'published', published_at = now(), locked_by = NULL, locked_at = NULL
WHERE id = ANY (%(ids)s) AND locked_by = %(relay)s AND status = 'processing'
