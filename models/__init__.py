"""Every durable fact and all SQL: tables, lifecycle, outbox, ledger, migrations."""
