-- No event has failed so often that it was given up.
SELECT count(*) AS violations FROM outbox_event WHERE status = 'dead'
