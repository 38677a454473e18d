"""The operations on a user's own settings and usage."""

from __future__ import annotations

from aijobs.http.openapi.operation import API, Answer, Group, Operation
from aijobs.http.openapi.user_shapes import Usage, UserSettings
from aijobs.http.user_settings import SettingsBody

_SETTINGS = f"{API}/settings"

USER = Group(
    "Settings and usage",
    "Your AI switch, your time zone, your limits and what is used of them.",
    (
        Operation(
            "getSettings",
            "GET",
            _SETTINGS,
            "Read your settings",
            answers=(Answer(200, "The settings and limits as they act now.", UserSettings),),
        ),
        Operation(
            "changeSettings",
            "PUT",
            _SETTINGS,
            "Change your settings",
            description=(
                "What is left out stays. Switching AI off cancels all your jobs: queued ones at "
                "once, running ones as soon as they notice. A time zone acts from the next "
                "midnight of the one that acts now."
            ),
            body=SettingsBody,
            answers=(Answer(200, "The settings as they are now.", UserSettings),),
        ),
        Operation(
            "getUsage",
            "GET",
            f"{API}/usage",
            "Read your usage",
            description="Today and this month in your time zone, apart for each kind of key.",
            answers=(Answer(200, "What is used and reserved.", Usage),),
        ),
    ),
)
