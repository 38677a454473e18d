"""The directory of one stack: what lies where in it, and the lock that one supervisor holds on it.

The kernel lets go of the lock when its holder dies, however it dies.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class DirectoryInUse(Exception):
    """Another supervisor works in this directory."""


class Directory:
    """Paths of a stack's directory, which is made when it is missing."""

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.path = path.resolve()
        self.logs = self.path / "logs"
        self.logs.mkdir(exist_ok=True, mode=0o700)
        self.env = self.path / "env"
        self.secrets = self.path / "secrets"
        self.processes = self.path / "processes.json"
        self.postgres = self.path / "postgres"
        self.valkey = self.path / "valkey"
        self.metrics = self.path / "metrics"

    def log(self, name: str) -> Path:
        """Where the process `name` writes."""
        return self.logs / f"{name.replace(' ', '-')}.log"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the directory for this process. Raises DirectoryInUse at once when it is held."""
        with (self.path / "lock").open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise DirectoryInUse(_refusal(self.path, file.name)) from None
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield


def write_private(path: Path, text: str) -> None:
    """Replace a file at once by one that only its owner can read."""
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    draft.replace(path)


def _refusal(path: Path, lock: str) -> str:
    holder = Path(lock).read_text().strip() or "unknown"
    return (
        f"{path} is in use by another `aijobs dev` (process {holder}): "
        "stop it first, or name another directory with --data"
    )
