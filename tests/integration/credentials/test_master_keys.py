"""`aijobs credentials rotate` and `check`: all keys or none, while jobs use them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from aijobs.engine import stages
from aijobs.engine.key_rotation import rotate
from aijobs.engine.master_keys import parse_master_keys
from aijobs.engine.vault import Vault
from aijobs.http.embedded.secrets import kept_secrets
from aijobs.models import database as db
from tests.integration.credentials.detour import KEY, Detour, add_key, keys_received, row_of
from tests.integration.http.caller import Caller
from tests.scripted_provider import ScriptedProvider
from tests.world import MASTER_KEYS, World, whole_database

NEW = "new-2:bmV3IGtleSBvZiB0aGlydHktdHdvIGJ5dGVzLTAwMDI="
SAME_ID = "test-1:bmV3IGtleSBvZiB0aGlydHktdHdvIGJ5dGVzLTAwMDI="


def aijobs(here: World, *words: str, keys: str | None) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, with these master keys."""
    settings = here.engine.settings
    environ = {name: value for name, value in os.environ.items() if "AIJOBS" not in name}
    environ |= {"DATABASE_URL": settings.database_url, "REDIS_URL": settings.redis_url}
    if keys is not None:
        environ["AIJOBS_MASTER_KEYS"] = keys
    command = [sys.executable, "-m", "aijobs.http.cli", "credentials", *words]
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60)


def test_a_rotation_seals_every_key_anew_and_changes_none(
    me: Caller, stranger: Caller, wired: World
) -> None:
    ids = [add_key(me), add_key(stranger, "the-strangers-key-01"), add_key(me)]
    gone = add_key(me)
    me.delete(f"/model-credentials/{gone}")
    before = [row_of(credential_id) for credential_id in ids]
    done = aijobs(wired, "rotate", keys=f"{NEW},{MASTER_KEYS}")
    assert (done.returncode, done.stdout) == (0, "3 keys are sealed anew with new-2\n")
    after = [row_of(credential_id) for credential_id in ids]
    assert [row.key_id for row in after] == ["new-2"] * 3
    assert len({bytes(row.nonce) for row in (*before, *after)}) == 6
    assert [row.version for row in after] == [1, 1, 1]
    assert [row.last4 for row in after] == ["cdef", "y-01", "cdef"]
    # The old master key is needed no more, and a second rotation has nothing to do.
    check = aijobs(wired, "check", keys=NEW)
    assert (check.returncode, check.stdout) == (0, "every stored key can be opened\n")
    again = aijobs(wired, "rotate", keys=f"{NEW},{MASTER_KEYS}")
    assert again.stdout == "0 keys are sealed anew with new-2\n"


@pytest.mark.parametrize("keys", [NEW, SAME_ID, f"{NEW},{SAME_ID}"])
def test_a_wrong_master_key_is_named_with_every_credential_that_it_does_not_open(
    me: Caller, wired: World, keys: str
) -> None:
    ids = sorted(str(add_key(me)) for _ in range(2))
    done = aijobs(wired, "check", keys=keys)
    assert (done.returncode, done.stdout) == (1, "")
    lines = done.stderr.splitlines()
    assert [line.split(" cannot be opened: ")[0] for line in lines] == [
        f"aijobs: credential {credential_id}" for credential_id in ids
    ]
    assert KEY not in done.stderr


def test_a_rotation_stops_at_the_first_key_that_does_not_open_and_changes_nothing(
    me: Caller, wired: World
) -> None:
    ids = [add_key(me) for _ in range(3)]
    broken = sorted(ids)[1]
    spoil = "UPDATE user_model_credential SET key_id = 'lost' WHERE id = %(id)s"
    db.read(lambda: db.rows(spoil, {"id": broken}))
    before = whole_database()
    done = aijobs(wired, "rotate", keys=f"{NEW},{MASTER_KEYS}")
    assert done.returncode == 1
    assert done.stderr == (
        f"aijobs: nothing was changed: credential {broken} cannot be opened: "
        "no master key has the id 'lost'\n"
    )
    assert whole_database() == before


def test_without_a_master_key_a_rotation_says_so(me: Caller, wired: World) -> None:
    add_key(me)
    done = aijobs(wired, "rotate", keys=None)
    assert done.returncode == 1
    assert done.stderr == "aijobs: nothing was changed: AIJOBS_MASTER_KEYS is not set\n"


def test_jobs_run_and_keys_change_while_master_keys_are_rotated(
    me: Caller, wired: World, server: ScriptedProvider, detour: Detour
) -> None:
    """All processes know both master keys, as docs/settings.md says; which one seals alternates."""
    old, new = parse_master_keys(MASTER_KEYS), parse_master_keys(NEW)
    both = replace(wired, engine=replace(wired.engine, vault=Vault({**new, **old})))
    held = {
        f"key-number-{number:04}": add_key(me, f"key-number-{number:04}") for number in range(4)
    }
    asked: Counter[str] = Counter()
    for number in range(24):
        key, credential_id = list(held.items())[number % 4]
        both.create(apiKeyMode="user_key", credentialId=str(credential_id))
        asked[key] += 1

    def work() -> int:
        done = 0
        while (attempt := stages.prepare(both.engine, "ai-interactive")) is not None:
            both.run(attempt)
            done += 1
        return done

    def relabel(credential_id: UUID) -> None:
        for number in range(10):
            me.put(f"/model-credentials/{credential_id}", {"label": f"label {number}"})

    with ThreadPoolExecutor(6) as pool:
        workers = [pool.submit(work) for _ in range(3)]
        users = [pool.submit(relabel, credential_id) for credential_id in held.values()]
        rotations = 0
        while not all(worker.done() for worker in workers) or rotations < 4:
            order = {**new, **old} if rotations % 2 == 0 else {**old, **new}
            assert rotate(Vault(order)) == len(held)
            rotations += 1
        assert sum(worker.result() for worker in workers) == 24
        for user in users:
            user.result()
    ends = db.read(lambda: db.rows("SELECT lifecycle_status, error_code FROM ai_job"))
    assert ends == [{"lifecycle_status": "succeeded", "error_code": None}] * 24
    assert Counter(keys_received(server)) == asked


def test_a_stack_of_its_own_makes_a_master_key_and_keeps_it(tmp_path: Path) -> None:
    made = kept_secrets(tmp_path / "secrets")["AIJOBS_MASTER_KEYS"]
    assert [len(key) for key in parse_master_keys(made).values()] == [32]
    assert kept_secrets(tmp_path / "secrets")["AIJOBS_MASTER_KEYS"] == made
    assert kept_secrets(tmp_path / "others")["AIJOBS_MASTER_KEYS"] != made
