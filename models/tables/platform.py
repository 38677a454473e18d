"""What concerns the platform as a whole: its circuits, and who changed what."""

from __future__ import annotations

from peewee import (
    BigAutoField,
    CompositeKey,
    DateTimeField,
    IntegerField,
    JSONField,
    TextField,
)

from aijobs.models.tables.base import NOW, Table, default, index, one_of

CIRCUIT_STATES = ("closed", "open", "half_open")


class PlatformCircuit(Table):
    """The circuit of one route; changed by the functions `circuit_*` of migrations/ alone."""

    provider = TextField()
    model = TextField()
    state = TextField(constraints=default("'closed'"))
    epoch = IntegerField(constraints=default("0"))
    consecutive_failures = IntegerField(constraints=default("0"))
    cause = TextField(null=True)
    probes = IntegerField(constraints=default("0"))  # how many at once, while half open
    opened_at = DateTimeField(null=True)
    half_open_at = DateTimeField(null=True)
    next_probe_at = DateTimeField(null=True)
    changed_at = DateTimeField(constraints=NOW)
    changed_by = TextField(constraints=default("'engine'"))

    class Meta:
        table_name = "platform_circuit"
        primary_key = CompositeKey("provider", "model")
        constraints = [one_of("platform_circuit", "state", *CIRCUIT_STATES)]


class AdminAudit(Table):
    """Who changed what, and what it was before."""

    id = BigAutoField(primary_key=True)
    who = TextField()
    what = TextField()
    target = TextField()
    before = JSONField(null=True)
    after = JSONField(null=True)
    at = DateTimeField(constraints=NOW)

    class Meta:
        table_name = "admin_audit"


index(AdminAudit, "admin_audit_at", "at, id")
