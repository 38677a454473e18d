"""An administrator's change of what a user may ask for.

Invariant: the change holds the lock of the user's settings, as whoever decides by them does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from uuid import UUID

from peewee import fn

from aijobs.models import audit, users
from aijobs.models import database as db
from aijobs.models.ledger import UserLimits, pass_gate
from aijobs.models.sql import load
from aijobs.models.tables import UserAiSettings
from aijobs.models.transitions import ENQUEUE
from aijobs.models.users import UserSettings

Limits = Mapping[str, int | None]


def change(user_id: UUID, defaults: UserLimits, limits: Limits, *, who: str) -> UserSettings:
    """Set the columns of `user_ai_settings` that `limits` names; the settings as they are then.

    What is really changed gets an audit row, and the user's jobs that wait for a budget try again;
    one that is about to wait sees it by `limits_changed_at`.
    A limit below what is used already refuses what comes; it takes nothing back.
    """

    def work() -> UserSettings:
        pass_gate(user_id, defaults)
        before = _limits(user_id, defaults, limits)
        changed = {name: limit for name, limit in limits.items() if before[name] != limit}
        if changed:
            mine = UserAiSettings.user_id == user_id
            now = fn.clock_timestamp()  # not when this began to wait for the lock
            UserAiSettings.update(**changed, limits_changed_at=now).where(mine).execute()
            was = {name: before[name] for name in changed}
            audit.record(who, "user.limits", str(user_id), before=was, after=changed)
            db.rows(load("budget_wake"), {"user_id": user_id, "event": ENQUEUE})
        return users.settings_of(user_id, defaults)

    return db.transact("settings", work)


def _limits(user_id: UUID, defaults: UserLimits, names: Limits) -> dict[str, Any]:
    settings = asdict(users.settings_of(user_id, defaults))
    return {name: settings[name] for name in names}
