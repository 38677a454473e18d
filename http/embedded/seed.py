"""The users that a stack of one machine comes with, whose limits fit demos, benchmarks and tests.

`python -m aijobs.http.embedded.seed` makes their settings where they have none yet.
"""

from __future__ import annotations

import os

from aijobs.engine.settings import Settings
from aijobs.http.embedded.announcement import DEMO_USER
from aijobs.http.tokens import user_id_of
from aijobs.models import database as db
from aijobs.models.ledger import UserLimits, pass_gate

USERS = (DEMO_USER, "bench", "conformance")
_WIDE = UserLimits(daily_jobs=1_000_000, daily_tokens=10**12, active=100_000)


def main() -> None:
    """Make them, in the database of the environment."""
    db.connect_to(Settings.from_env(os.environ).database_url, connections=1)
    for name in USERS:
        user_id = user_id_of(name)
        db.transact("settings", lambda user_id=user_id: pass_gate(user_id, _WIDE))  # type: ignore[misc]
    db.disconnect()


if __name__ == "__main__":
    main()
