"""What lies in a stack's directory: env file, secrets, and who may read them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from aijobs.http.embedded import env_file
from aijobs.http.embedded.directory import Directory, DirectoryInUse
from aijobs.http.embedded.secrets import kept_secrets

VALUES = {
    "PLAIN": "postgresql://postgres:@/postgres?host=/a/b%20c",
    "EMPTY": "",
    "SPACES": " two  words ",
    "QUOTES": """it's "so" """,
    "SHELL": "$HOME `id` \\ * ~ # ; & | < >",
    "LINES": "one\ntwo",
    "UNICODE": "学习",
}


def test_an_env_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    env_file.write(tmp_path / "env", VALUES)
    assert env_file.read(tmp_path / "env") == VALUES


def test_a_shell_reads_the_same_from_an_env_file(tmp_path: Path) -> None:
    env_file.write(tmp_path / "env", VALUES)
    script = 'set -a; . "$0"; env -0'
    found = subprocess.run(
        ["sh", "-c", script, tmp_path / "env"],
        capture_output=True,
        check=True,
        env={"PATH": os.defpath},
    )
    entries = (entry.partition("=") for entry in found.stdout.decode().split("\0"))
    assert VALUES.items() <= {name: value for name, _, value in entries}.items()


def test_an_ordinary_address_is_written_without_quotes(tmp_path: Path) -> None:
    env_file.write(tmp_path / "env", {"URL": VALUES["PLAIN"]})
    assert (tmp_path / "env").read_text() == f"URL={VALUES['PLAIN']}\n"


def test_comments_and_export_are_allowed(tmp_path: Path) -> None:
    (tmp_path / "env").write_text("# mine\nexport A=1\nB=2 # two\n\n")
    assert env_file.read(tmp_path / "env") == {"A": "1", "B": "2"}


@pytest.mark.parametrize("text", ["just words", "A='open", "1A=2", "=2"])
def test_what_is_no_env_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "env").write_text(text)
    with pytest.raises(ValueError):
        env_file.read(tmp_path / "env")


def test_secrets_are_random_made_once_and_private(tmp_path: Path) -> None:
    first = kept_secrets(tmp_path / "secrets")
    assert kept_secrets(tmp_path / "secrets") == first
    assert set(kept_secrets(tmp_path / "others").values()).isdisjoint(first.values())
    assert all(len(secret) >= 32 for secret in first.values())
    assert (tmp_path / "secrets").stat().st_mode & 0o777 == 0o600


def test_a_secret_that_an_older_version_did_not_know_is_added(tmp_path: Path) -> None:
    env_file.write(tmp_path / "secrets", {"AIJOBS_JWT_SECRET": "kept"})
    secrets = kept_secrets(tmp_path / "secrets")
    assert secrets["AIJOBS_JWT_SECRET"] == "kept"
    assert secrets == kept_secrets(tmp_path / "secrets")
    assert len(secrets) > 1


def test_a_private_file_stays_private_when_it_replaces_an_open_one(tmp_path: Path) -> None:
    (tmp_path / "env").write_text("A=1\n")
    (tmp_path / "env").chmod(0o644)
    env_file.write(tmp_path / "env", {"A": "2"})
    assert (tmp_path / "env").stat().st_mode & 0o777 == 0o600


def test_a_directory_is_for_its_owner_and_one_holder(tmp_path: Path) -> None:
    directory = Directory(tmp_path / "new" / "stack")
    assert directory.path.stat().st_mode & 0o777 == 0o700
    with directory.locked(), pytest.raises(DirectoryInUse, match=f"process {os.getpid()}"):
        directory.locked().__enter__()
    with directory.locked():
        pass
