"""What leaves the database after a commit, and when the periodic passes last ran."""

from __future__ import annotations

from peewee import BigAutoField, DateTimeField, IntegerField, JSONField, TextField, UUIDField

from aijobs.models.tables.base import NOW, Table, default, index, one_of

EVENT_STATUSES = ("pending", "processing", "published", "dead")


class OutboxEvent(Table):
    """A message to be relayed. Written with the change that it tells of."""

    id = BigAutoField(primary_key=True)
    event_type = TextField()
    aggregate_type = TextField(constraints=default("'ai_job'"))
    aggregate_id = UUIDField()
    dedupe_key = TextField()
    payload = JSONField()
    status = TextField(constraints=default("'pending'"))
    attempt_count = IntegerField(constraints=default("0"))
    rank_at = DateTimeField(constraints=NOW)
    available_at = DateTimeField(constraints=NOW)
    locked_by = TextField(null=True)
    locked_at = DateTimeField(null=True)
    published_at = DateTimeField(null=True)
    last_error = TextField(null=True)
    created_at = DateTimeField(constraints=NOW)

    class Meta:
        table_name = "outbox_event"
        constraints = [one_of("outbox_event", "status", *EVENT_STATUSES)]


index(OutboxEvent, "outbox_event_dedupe", "dedupe_key", unique=True)
index(OutboxEvent, "outbox_event_pending", "rank_at, id", where="status = 'pending'")
index(OutboxEvent, "outbox_event_processing", "locked_at", where="status = 'processing'")
index(OutboxEvent, "outbox_event_published", "published_at", where="status = 'published'")
index(OutboxEvent, "outbox_event_dead", "id", where="status = 'dead'")


class MaintenancePass(Table):
    """When a periodic pass last began and last succeeded."""

    name = TextField(primary_key=True)
    last_started_at = DateTimeField(null=True)
    last_succeeded_at = DateTimeField(null=True)
    last_error = TextField(null=True)

    class Meta:
        table_name = "maintenance_pass"


class QueueControl(Table):
    """A queue that an admin has paused: nothing of it is claimable."""

    queue_name = TextField(primary_key=True)
    paused_at = DateTimeField(null=True)
    paused_by = TextField(null=True)

    class Meta:
        table_name = "queue_control"
