"""What a learner tells about themselves, written as a whole: one row a user, or none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg2.extras import Json

from aijobs.models import database as db


@dataclass(frozen=True, slots=True)
class NewProfile:
    """A profile in full: None stands for what was not told."""

    goals: str | None
    level: str | None
    locale: str | None
    preferences: dict[str, Any]
    display_name: str | None


def save(user_id: UUID, profile: NewProfile) -> None:
    """Store the profile in place of an earlier one."""
    params = {
        "user_id": user_id,
        "goals": profile.goals,
        "level": profile.level,
        "locale": profile.locale,
        "preferences": Json(profile.preferences),
        "display_name": profile.display_name,
    }
    db.statement("learner", _SAVE, params)


def forget(user_id: UUID) -> None:
    """Delete the profile, if there is one."""
    db.statement(
        "learner", "DELETE FROM learner_profile WHERE user_id = %(user_id)s", {"user_id": user_id}
    )


_SAVE = """
INSERT INTO learner_profile (user_id, goals, level, locale, preferences, display_name)
VALUES (%(user_id)s, %(goals)s, %(level)s, %(locale)s, %(preferences)s, %(display_name)s)
ON CONFLICT (user_id) DO UPDATE SET goals = excluded.goals, level = excluded.level,
    locale = excluded.locale, preferences = excluded.preferences,
    display_name = excluded.display_name, updated_at = now()
"""
