"""What a ready stack tells everybody who may read its directory: where it is, and tokens for it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from aijobs.engine.settings import Settings
from aijobs.http.embedded import env_file
from aijobs.http.embedded.records import MARK
from aijobs.http.tokens import CannotIssue, issue, user_id_of

#: Whose token a stack's env file holds.
DEMO_USER = "demo"
_SERVERS = ("DATABASE_URL", "DATABASE_DIRECT_URL", "REDIS_URL", "AMQP_URL")
_TOKEN_SECONDS = 30 * 86_400


def announce(path: Path, env: Mapping[str, str], settings: Settings, url: str) -> None:
    """Write the env file: the settings that the programs got, the URL, and a token for each API
    whose tokens are ours to sign."""
    given = {name: value for name, value in env.items() if _is_setting(name)}
    tokens = _runtime_token(settings)
    with suppress(CannotIssue):
        tokens |= _user_tokens(settings)
    env_file.write(path, given | {"AIJOBS_URL": url} | tokens)


def _is_setting(name: str) -> bool:
    return name in _SERVERS or (name.startswith("AIJOBS_") and name != MARK)


def _user_tokens(settings: Settings) -> dict[str, str]:
    demo, admin = user_id_of(DEMO_USER), user_id_of("admin")
    return {
        "AIJOBS_USER_TOKEN": issue(settings, demo, "USER", _TOKEN_SECONDS),
        "AIJOBS_ADMIN_TOKEN": issue(settings, admin, "SUPER_ADMIN", _TOKEN_SECONDS),
    }


def _runtime_token(settings: Settings) -> dict[str, str]:
    runtime = settings.runtime_service_token.get_secret_value()
    return {"AIJOBS_RUNTIME_TOKEN": runtime.split(",")[0].strip()}
